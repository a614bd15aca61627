"""The build of tabgrad: what stands behind each command of build.py."""

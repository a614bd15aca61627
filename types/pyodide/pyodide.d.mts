// The worker imports the file that the build puts below pyodide/; npm has its types.
export * from "pyodide";

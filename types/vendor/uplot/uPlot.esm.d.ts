// The page imports the file that the build puts below vendor/; npm has its types.
export { default } from "uplot";

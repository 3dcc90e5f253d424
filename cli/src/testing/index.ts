// What tests of other packages use.
export { CommandError } from "../errors.ts";
export { createProgram } from "../program.ts";
export { readStatement, type StatedWay, type Statement } from "../output/statements.ts";

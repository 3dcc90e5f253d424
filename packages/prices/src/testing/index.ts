// What tests of other packages use.
export { billOf } from "../bill.ts";

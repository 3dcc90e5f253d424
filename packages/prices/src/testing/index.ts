export { billOf } from "../bill.ts";

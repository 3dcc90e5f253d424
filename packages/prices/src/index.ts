export { billSteps } from "./bill.ts";
export { PriceError } from "./errors.ts";
export { readPrices } from "./read.ts";
export { PriceTable } from "./table.ts";

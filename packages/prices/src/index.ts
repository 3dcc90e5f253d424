export { billSteps } from "./bill.ts";
export { readPrices } from "./read.ts";
export { PriceTable } from "./table.ts";

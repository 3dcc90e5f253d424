export { billOf } from "./bill.ts";
export { PriceError } from "./errors.ts";
export { readPrices } from "./read.ts";
export type { Judgement, ProposedMove, SavingsInput } from "./savings/input.ts";
export { savingsInSteps } from "./savings/savings.ts";
export { PriceTable } from "./table.ts";

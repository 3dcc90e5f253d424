export { billOf, billSteps, MONTH_SECONDS } from "./bill.ts";
export { listedPrices } from "./listed.ts";
export { pairPrices } from "./pair-prices.ts";
export type { PairPrices } from "./pair-prices.ts";
export { readPrices } from "./read.ts";
export type { Judgement, ProposedMove, SavingsInput } from "./savings/input.ts";
export { savingsInSteps } from "./savings/savings.ts";
export { PriceTable } from "./table.ts";

export { CONTENDERS } from "./scenario/model.ts";
export type { ContenderId, Point, Scenario } from "./scenario/model.ts";

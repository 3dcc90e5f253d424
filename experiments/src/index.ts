export { ScenarioError } from "./scenario/errors.ts";
export { listScenarios, scenarioFile } from "./scenario/catalogue.ts";
export type { CatalogueEntry } from "./scenario/catalogue.ts";
export { conduct } from "./conduct.ts";
export type { RunProgress } from "./frame/bench.ts";
export type { Conducted } from "./frame/experiment.ts";
export type { KubeScheduler, ProductSettings } from "./contenders/index.ts";

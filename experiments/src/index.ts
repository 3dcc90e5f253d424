export { ScenarioError } from "./scenario/errors.ts";
export { listScenarios, scenarioFile } from "./scenario/catalogue.ts";
export type { CatalogueEntry } from "./scenario/catalogue.ts";
export { conduct } from "./conduct.ts";
export type { Conducted } from "./conducted.ts";
export type { RunProgress } from "./run/experiment.ts";
export type { KubeScheduler, ProductSettings } from "./contenders/index.ts";

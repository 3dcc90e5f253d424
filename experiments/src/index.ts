export { CONTENDERS } from "./scenario/model.ts";
export type { ContenderId, Point, Scenario } from "./scenario/model.ts";
export { ScenarioError } from "./scenario/errors.ts";
export type { ScenarioIssue } from "./scenario/errors.ts";
export { listScenarios, scenarioFile } from "./scenario/catalogue.ts";
export type { CatalogueEntry } from "./scenario/catalogue.ts";
export { loadScenario, readScenario } from "./scenario/read-scenario.ts";
export { conduct } from "./conduct.ts";
export type { ConductDeps, Conducted, ConductOptions } from "./conducted.ts";
export type { RunProgress } from "./run/experiment.ts";
export type { Verdict } from "./run/verdict.ts";
export { createContender, placementCost } from "./contenders/index.ts";
export type {
  ContenderDeps,
  KubeScheduler,
  ProductSettings,
  SchedulableNode,
  SchedulingRequest,
  WaitingPod,
} from "./contenders/index.ts";
export { createLabGround, LINK_KINDS } from "./ground/lab/index.ts";
export type { LabGroundOptions, LinkKind } from "./ground/lab/index.ts";
export { createModelGround } from "./ground/model/index.ts";
export type { Ground, Running, Stretch } from "./ground/port.ts";
export { LOADS } from "./ground/validation/points.ts";
export { validateGrounds } from "./ground/validation/validate.ts";
export type { Comparison, Validation, ValidationOptions } from "./ground/validation/validate.ts";

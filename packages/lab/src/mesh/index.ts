export { MeshLab } from "./mesh-lab.ts";
export type { MeshFlow, MeshLink } from "./mesh-plan.ts";
export { runStages, type StagedJob } from "../stages/stages.ts";

import { decisions } from "./decisions.ts";
import type { Dashboard } from "./grafana.ts";
import { health } from "./health.ts";
import { network } from "./network.ts";
import { workflows } from "./workflows.ts";

export const DASHBOARDS: readonly Dashboard[] = [network, workflows, decisions, health];
export { toGrafana } from "./grafana.ts";

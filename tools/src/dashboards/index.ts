import { decisions } from "./decisions.ts";
import type { Dashboard } from "./grafana.ts";
import { health } from "./health.ts";
import { network } from "./network.ts";
import { workflows } from "./workflows.ts";

export const DASHBOARDS: readonly Dashboard[] = [network, workflows, decisions, health];
export { NEEDS, queriesOf, toGrafana } from "./grafana.ts";
export type { Dashboard, Need } from "./grafana.ts";

// The workload of `isochrone up --hot-site`: per zone users, a called workload, and replicas of the shared
// Service.
import { DISPATCH_ANNOTATIONS } from "@isochrone/kubernetes";
import { BEHAVIOUR, LOAD_PATH, matrixOfZones, readManifest, WORKFLOW_LABEL } from "@isochrone/lab";
import type { LoadPlan, NetworkSite, Site, WorkflowManifest } from "@isochrone/lab";
import type { Random } from "@isochrone/runtime";

export const HOT_ZONES = ["west", "east", "north"] as const;
export type HotZone = (typeof HOT_ZONES)[number];

export const API = "api";
export const NAMESPACE = "default";

/** Service time of a request, and its deadline. Milliseconds. */
const WORK_MS = 200;
export const DEADLINE_MS = 800;
const CAPACITY_PER_SECOND = 1000 / WORK_MS;
export const REPLICAS = 4 * HOT_ZONES.length;

const CALM_PER_SECOND = 7;
const HOT_PER_SECOND = 30;
/** Factor by which the hot zone sends less before growing. */
export const CALM_PACE = HOT_PER_SECOND / CALM_PER_SECOND;

const NODE = { cpuMillicores: 24_000, memoryBytes: 32 * 2 ** 30 };

export function webOf(zone: HotZone): string {
  return `web-${zone}`;
}

export function hotSites(): readonly (Site & NetworkSite)[] {
  return HOT_ZONES.map((zone, row) => ({ name: `${zone}-1`, region: "site", zone, row, ...NODE }));
}

export const hotMatrix = (): ReturnType<typeof matrixOfZones> => matrixOfZones(hotSites());

export function loadPlans(hot: HotZone, random: Random): ReadonlyMap<string, LoadPlan> {
  const periodMs = 20_000;
  return new Map(
    HOT_ZONES.map((zone) => {
      const perSecond = zone === hot ? HOT_PER_SECOND : CALM_PER_SECOND;
      const count = Math.round((perSecond * periodMs) / 1000);
      const phasesMs = Array.from({ length: count }, () => random.next() * periodMs).sort((a, b) => a - b);
      return [webOf(zone), { phasesMs, periodMs, timeoutMs: 5 * DEADLINE_MS, maxPending: 1_000 }];
    }),
  );
}

export function hotManifest(): WorkflowManifest {
  const webs = HOT_ZONES.map((zone, index) =>
    workload(webOf(zone), 1, {
      annotations: { [BEHAVIOUR.calls]: API, ...(index === 0 ? { [BEHAVIOUR.entry]: "true" } : {}) },
      spec: { nodeSelector: { "topology.kubernetes.io/zone": zone } },
    }),
  );
  const work = { [BEHAVIOUR.cpuMs]: String(WORK_MS), [BEHAVIOUR.cpuKind]: "modelled" };
  const api = workload(API, REPLICAS, {
    annotations: { ...work, [BEHAVIOUR.responseBytes]: "2000" },
    cpu: "1",
    service: {
      [DISPATCH_ANNOTATIONS.deadline]: `${DEADLINE_MS}ms`,
      [DISPATCH_ANNOTATIONS.capacity]: String(CAPACITY_PER_SECOND),
      [DISPATCH_ANNOTATIONS.loadPath]: LOAD_PATH,
    },
  });
  return readManifest(
    [...webs, api]
      .flat()
      .map((object) => JSON.stringify(object))
      .join("\n---\n"),
    "hot-site",
  );
}

interface WorkloadParts {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly cpu?: string;
  readonly service?: Readonly<Record<string, string>>;
}

function workload(
  name: string,
  replicas: number,
  { annotations, spec = {}, cpu = "100m", service = {} }: WorkloadParts,
): readonly object[] {
  const labels = { app: name, version: "v1", [WORKFLOW_LABEL]: "hot-site" };
  const resources = { requests: { cpu, memory: "64Mi" } };
  const containers = [{ name: "app", image: "isochrone.dev/lab/service:v1", resources }];
  const metadata = { name, namespace: NAMESPACE, labels };
  const selector = { app: name };
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: selector },
        template: {
          metadata: { labels, annotations },
          spec: { terminationGracePeriodSeconds: 1, containers, ...spec },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...metadata, annotations: service },
      spec: { selector, ports: [{ port: 80 }] },
    },
  ];
}

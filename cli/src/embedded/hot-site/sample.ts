// What `isochrone up --hot-site` runs: in each zone users, a workload that they call, and a part of the
// replicas of the Service that all of these call.
import { DISPATCH_ANNOTATIONS } from "@isochrone/kubernetes";
import { BEHAVIOUR, LOAD_PATH, matrixOfZones, readManifest, WORKFLOW_LABEL } from "@isochrone/lab";
import type { LoadPlan, NetworkSite, Site, WorkflowManifest } from "@isochrone/lab";
import type { Random } from "@isochrone/runtime";

export const HOT_ZONES = ["west", "east", "north"] as const;
export type HotZone = (typeof HOT_ZONES)[number];

/** Of the Service whose requests are spread, and its Deployment. */
export const API = "api";
export const NAMESPACE = "default";

/** A request takes a replica so long, and is in time within the deadline. Milliseconds. */
const WORK_MS = 200;
export const DEADLINE_MS = 800;
/** Requests per second that a replica serves. */
const CAPACITY_PER_SECOND = 1000 / WORK_MS;
export const REPLICAS = 4 * HOT_ZONES.length;

/** Requests per second of the users of a zone; those of the hot one, when they have grown. */
const CALM_PER_SECOND = 7;
const HOT_PER_SECOND = 30;
/** How many times as rarely the users of the hot zone send before that. */
export const CALM_PACE = HOT_PER_SECOND / CALM_PER_SECOND;

/** Large enough for all replicas that anybody may want in a zone. */
const NODE = { cpuMillicores: 24_000, memoryBytes: 32 * 2 ** 30 };

/** Name of the workload that users of a zone call, and of its Service. */
export function webOf(zone: HotZone): string {
  return `web-${zone}`;
}

export function hotSites(): readonly (Site & NetworkSite)[] {
  return HOT_ZONES.map((zone, row) => ({ name: `${zone}-1`, region: "site", zone, row, ...NODE }));
}

/** 10 ms between two zones. */
export const hotMatrix = (): ReturnType<typeof matrixOfZones> => matrixOfZones(hotSites());

/** At random moments of 20 s, the same again and again. */
export function loadPlans(hot: HotZone, random: Random): ReadonlyMap<string, LoadPlan> {
  const periodMs = 20_000;
  return new Map(
    HOT_ZONES.map((zone) => {
      const perSecond = zone === hot ? HOT_PER_SECOND : CALM_PER_SECOND;
      const count = Math.round((perSecond * periodMs) / 1000);
      const phasesMs = Array.from({ length: count }, () => random.next() * periodMs).sort((a, b) => a - b);
      // Users are more patient than the deadline, but not for ever.
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
  // JSON is YAML, too.
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
  /** Annotations of the Service. */
  readonly service?: Readonly<Record<string, string>>;
}

/** A Deployment and its Service. */
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

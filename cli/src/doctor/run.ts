import type { BusSettings } from "@isochrone/bus/settings";
import type { Credentials } from "@isochrone/kubernetes/api-server";
import type { ClusterStore } from "@isochrone/kubernetes";
import { lookAtKernelParts } from "@isochrone/network-manager";
import { type Fetch } from "@isochrone/runtime/basics";
import { reasonOf } from "@isochrone/primitives";
import { GraphClientError } from "@isochrone/topology/client";
import type { GraphClient } from "@isochrone/topology/client";
import { judgeAnnotators, lookAtAnnotators } from "./annotators.ts";
import { judgeApiServer, lookAtApiServer, metricsOf } from "./api-server.ts";
import type { ApiServerLook } from "./api-server.ts";
import { judgeAppGroups, lookAtAppGroups } from "./app-groups.ts";
import { judgeClocks } from "./clocks.ts";
import type { ClockLook } from "./clocks.ts";
import { judgeDefinitions, lookAtDefinitions, readDefinitions } from "./crds.ts";
import { GROUPS, NAME_A_CLUSTER, skipped } from "./finding.ts";
import type { Finding, Group, Verdict } from "./finding.ts";
import { judgeDispatch, lookAtDispatch } from "./dispatch.ts";
import { judgeExtender } from "./extender.ts";
import { judgeFlows } from "./flows.ts";
import { judgeGates, lookAtGates } from "./gates.ts";
import { judgeFreshness } from "./freshness.ts";
import type { GraphFacts } from "./freshness.ts";
import { judgeKafka, lookAtKafka } from "./kafka.ts";
import { judgeKernel, judgeNode, judgePermissions, lookAtKernel, lookAtPermissions } from "./machine.ts";
import { readRbacFiles } from "./rbac-files.ts";
import type { Installation } from "./rbac-files.ts";
import { judgeRbac, lookAtRbac } from "./rbac.ts";
import { judgeSockets, lookAtSockets } from "./sockets.ts";
import { judgeSources } from "./sources.ts";

interface Targets {
  readonly graph: { readonly client: GraphClient; readonly server: string; readonly isAssumed: boolean };
  /** Null: none named, see `clusterWhy`. */
  readonly cluster: {
    readonly credentials: Credentials;
    readonly source: string;
    readonly store: ClusterStore;
  } | null;
  readonly clusterWhy: string;
  readonly installation: Installation;
  readonly chart: string;
  readonly as: string | null;
  readonly bus: BusSettings | null;
  readonly collector: string | null;
  readonly schedulerPlugin: string | null;
  readonly networkManager: string | null;
  readonly fetch: Fetch;
  readonly nodeVersion: string;
  readonly nowMs: () => number;
}

type Check = (asked: Asked) => Promise<readonly Verdict[]> | readonly Verdict[];

const CHECKS: Readonly<Record<Group, Check>> = {
  node: ({ ground }) => judgeNode(ground.nodeVersion),
  kernel: async () => judgeKernel(await lookAtKernel()),
  sockets: async () => judgeSockets(await lookAtSockets()),
  permissions: async () => judgePermissions(await lookAtPermissions()),
  clocks: checkClocks,
  kafka: async ({ ground: { bus } }) => judgeKafka(bus === null ? null : await lookAtKafka(bus)),
  "api-server": async (asked) => judgeApiServer(await asked.apiServer(), asked.ground.clusterWhy),
  rbac: checkRbac,
  crds: checkDefinitions,
  gates: checkGates,
  sources: checkSources,
  appgroups: checkAppGroups,
  dispatch: checkDispatch,
  freshness: async (asked) => [...judgeFreshness(await asked.graph()), await checkAnnotators(asked)],
  extender: async ({ ground: { schedulerPlugin, fetch, nowMs } }) =>
    judgeExtender(schedulerPlugin === null ? null : await readPage(schedulerPlugin, fetch), nowMs()),
  flows: checkFlows,
};

/** Runs the groups in order; a failing group does not stop the others. */
export async function examine(
  ground: Targets,
  groups: readonly Group[],
  onGroup: (group: Group, index: number) => void = () => undefined,
): Promise<Finding[]> {
  const asked = new Asked(ground);
  const findings: Finding[] = [];
  const chosen = GROUPS.filter((group) => groups.includes(group));
  for (const [index, group] of chosen.entries()) {
    onGroup(group, index);
    findings.push(...(await verdictsOf(group, asked)).map((verdict) => ({ group, ...verdict })));
  }
  return findings;
}

async function verdictsOf(group: Group, asked: Asked): Promise<readonly Verdict[]> {
  try {
    return await CHECKS[group](asked);
  } catch (error) {
    const why = `the look failed: ${reasonOf(error)}`;
    return [
      skipped({ check: group, looked: group, why, remedy: "Fix the stated cause and run the doctor again." }),
    ];
  }
}

class Asked {
  readonly ground: Targets;
  #apiServer: Promise<ApiServerLook | null> | null = null;
  #graph: Promise<GraphFacts & { readonly clock: ClockLook }> | null = null;

  constructor(ground: Targets) {
    this.ground = ground;
  }

  apiServer(): Promise<ApiServerLook | null> {
    const { cluster, nowMs } = this.ground;
    this.#apiServer ??= cluster === null ? Promise.resolve(null) : lookAtApiServer(cluster, nowMs);
    return this.#apiServer;
  }

  graph(): Promise<GraphFacts & { readonly clock: ClockLook }> {
    this.#graph ??= this.#readGraph();
    return this.#graph;
  }

  async #readGraph(): Promise<GraphFacts & { readonly clock: ClockLook }> {
    const { graph, nowMs } = this.ground;
    const { client, server, isAssumed } = graph;
    const facts = { server, isAssumed, health: null };
    const clock = { name: "aggregator", atMs: null, askedAtMs: 0, answeredAtMs: 0, resolutionMs: 1 } as const;
    try {
      const { value: cluster, dropped } = await client.cluster();
      const askedAtMs = nowMs();
      try {
        const { value: health } = await client.health();
        const atMs = Date.parse(health.observedAt);
        const look = { ...clock, atMs, why: "", askedAtMs, answeredAtMs: nowMs() };
        return { ...facts, cluster, dropped, health, why: "", clock: look };
      } catch (error) {
        const why = reasonOf(error);
        return { ...facts, cluster, dropped, why, clock: { ...clock, why } };
      }
    } catch (error) {
      if (isAssumed && error instanceof GraphClientError && error.code === "unreachable") {
        const why = `no server is named, and nothing answers at ${server}`;
        return { ...facts, cluster: null, why, clock: { ...clock, why } };
      }
      const why = reasonOf(error);
      return { ...facts, isAssumed: false, cluster: null, why, clock: { ...clock, why } };
    }
  }
}

async function checkClocks(asked: Asked): Promise<Verdict[]> {
  const [look, { health, clock, why }] = [await asked.apiServer(), await asked.graph()];
  const none = look === null ? asked.ground.clusterWhy : (look.error ?? "its answer has no Date header");
  const apiServer: ClockLook = {
    name: "API server",
    atMs: look?.dateMs ?? null,
    why: none,
    askedAtMs: look?.askedAtMs ?? 0,
    answeredAtMs: look?.answeredAtMs ?? 0,
    resolutionMs: 1_000,
  };
  return judgeClocks([apiServer, clock], health, why);
}

/** Why the cluster cannot be queried; null: it can. */
async function obstacleOf(asked: Asked): Promise<string | null> {
  const look = await asked.apiServer();
  if (look === null) return asked.ground.clusterWhy;
  return look.error === null ? null : `the API server doesn't answer: ${look.error}`;
}

async function checkRbac(asked: Asked): Promise<Verdict[]> {
  const { cluster, installation, chart, as } = asked.ground;
  const obstacle = await obstacleOf(asked);
  if (cluster === null || obstacle !== null)
    return [
      skipped({
        check: "rights",
        looked: "access reviews",
        rule: "each account has the rights of its files",
        why: obstacle ?? "",
        remedy: NAME_A_CLUSTER,
      }),
    ];
  const folder = `${chart}/files/rbac`;
  return judgeRbac(
    await lookAtRbac({
      store: cluster.store,
      installation,
      files: rbacFiles(folder, installation),
      folder,
      as,
    }),
  );
}

function rbacFiles(folder: string, installation: Installation) {
  try {
    return readRbacFiles(folder, installation);
  } catch {
    return null;
  }
}

async function checkDefinitions(asked: Asked): Promise<Verdict[]> {
  const { cluster, chart } = asked.ground;
  const parts = {
    check: "definitions",
    looked: "CustomResourceDefinitions",
    rule: "there, and not narrowed",
  };
  const obstacle = await obstacleOf(asked);
  if (cluster === null || obstacle !== null)
    return [skipped({ ...parts, why: obstacle ?? "", remedy: NAME_A_CLUSTER })];
  const wanted = readDefinitions(`${chart}/crds`);
  if (wanted === null)
    return [
      skipped({
        ...parts,
        why: `the chart's definitions are not in ${chart}/crds`,
        remedy: "Set --chart to the chart's folder.",
      }),
    ];
  return judgeDefinitions(await lookAtDefinitions(cluster.store, wanted));
}

async function checkGates(asked: Asked): Promise<Verdict[]> {
  const { cluster, installation, nowMs } = asked.ground;
  const obstacle = await obstacleOf(asked);
  if (cluster === null || obstacle !== null) return judgeGates(null, obstacle ?? "");
  const { store, credentials } = cluster;
  const metrics = () => metricsOf(credentials);
  return judgeGates(await lookAtGates({ store, installation, metrics, nowMs }), "");
}

async function checkAnnotators(asked: Asked): Promise<Verdict> {
  const { cluster, graph, fetch, nowMs } = asked.ground;
  const { isAssumed } = await asked.graph();
  const page = isAssumed ? null : await readPage(graph.server, fetch);
  const obstacle = await obstacleOf(asked);
  const writers =
    cluster === null || obstacle !== null ? null : await lookAtAnnotators(cluster.store, nowMs());
  return judgeAnnotators({ page, writers, why: obstacle ?? "" });
}

const PAGE_TIMEOUT_MS = 10_000;

async function checkSources(asked: Asked): Promise<Verdict[]> {
  const { cluster, health, why } = await asked.graph();
  const { collector, graph } = asked.ground;
  const workflows = cluster === null ? [] : (await graph.client.workflowChanges(null)).graphs;
  return judgeSources({
    cluster,
    workflows,
    ambiguousNames: health?.sizes.ambiguousNames ?? null,
    why,
    collector: collector === null ? null : await readPage(collector, fetch),
  });
}

async function checkAppGroups(asked: Asked): Promise<Verdict[]> {
  const { cluster } = asked.ground;
  const obstacle = await obstacleOf(asked);
  if (cluster === null || obstacle !== null) return judgeAppGroups(null, obstacle ?? "");
  return judgeAppGroups(await lookAtAppGroups(cluster.store), "AppGroups aren't installed");
}

async function checkDispatch(asked: Asked): Promise<Verdict[]> {
  const { cluster } = asked.ground;
  const obstacle = await obstacleOf(asked);
  if (cluster === null || obstacle !== null) return judgeDispatch(null, obstacle ?? "");
  return judgeDispatch(await lookAtDispatch(cluster.store), "");
}

async function checkFlows({ ground }: Asked): Promise<Verdict[]> {
  const { networkManager, graph, fetch } = ground;
  const streams = await graph.client.streams().then(
    ({ value }) => ({ streams: value, why: "" }),
    (error: unknown) => ({ streams: null, why: reasonOf(error) }),
  );
  const { platform } = process;
  const machine = platform === "linux" ? await lookAtKernelParts() : { parts: [], foreignQdiscs: null };
  const manager = networkManager === null ? null : await readManager(networkManager, fetch);
  return judgeFlows({ platform, machine, manager, ...streams });
}

async function readManager(base: string, fetchPage: Fetch) {
  const url = `${base.replace(/\/$/, "")}/api/v1/flows`;
  try {
    const response = await fetchPage(url, { signal: AbortSignal.timeout(PAGE_TIMEOUT_MS) });
    if (!response.ok) return { url, json: null, error: `answered with status ${response.status}` };
    return { url, json: await response.json(), error: null };
  } catch (error) {
    return { url, json: null, error: reasonOf(error) };
  }
}

/** @param base with or without the path /metrics */
async function readPage(base: string, fetchPage: Fetch) {
  const url = `${base.replace(/\/(metrics)?$/, "")}/metrics`;
  try {
    const response = await fetchPage(url, { signal: AbortSignal.timeout(PAGE_TIMEOUT_MS) });
    if (!response.ok) return { url, text: null, error: `answered with status ${response.status}` };
    return { url, text: await response.text(), error: null };
  } catch (error) {
    return { url, text: null, error: reasonOf(error) };
  }
}

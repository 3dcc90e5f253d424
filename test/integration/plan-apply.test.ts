// Carries out plans within PodDisruptionBudgets. After a kill, `doctor` names leftovers and `--undo` removes
// them.
import { hasCondition, KINDS, MOVE_TO_ANNOTATION, MOVING_ANNOTATION } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createProgram } from "@isochrone/cli/testing";
import type { WorkflowPlanReport } from "@isochrone/placement";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { TUNED, tunedEnvironment } from "../harness/components/tuned.ts";
import {
  controlPlaneSupport,
  nodeNameOf,
  startControlPlane,
  workloadObject,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { clusterGraph, startGraphApi, workflowGraph, type GraphApi } from "../harness/extender.ts";
import { PLACEMENT_GATE, startPlanner, type RunningPlanner } from "../harness/planner.ts";
import { PLANNER_COMPONENTS } from "../harness/planner-testbed.ts";

/** The command itself, because killing the launcher would not stop it. */
const MAIN = join(import.meta.dirname, "../../cli/src/main.ts");
const NODES = ["east-0", "east-1", "east-2", "west-0", "west-1", "west-2"];
const REGION = "topology.kubernetes.io/region";
const CHANNELS = [
  ["web", "db", 400_000],
  ["api", "db", 300_000],
] as const;
const REPLICAS: Readonly<Record<string, number>> = { web: 2, api: 2, db: 1 };
/** `db` stays in the west, so both pods of `web` and of `api` must follow it. */
const MOVES = 4;
const WITHIN = { timeout: 60_000, interval: 200 };
const SETTINGS = tunedEnvironment({ descheduler: { minPodAgeMs: 0, allowStatefulSets: true } });
const OURS = [MOVING_ANNOTATION, MOVE_TO_ANNOTATION, "isochrone.dev/applied-moves", "isochrone.dev/moves"];

type Placement = Readonly<Record<string, readonly string[]>>;

const support = controlPlaneSupport(PLANNER_COMPONENTS);
if (!support.supported) console.warn(`plans on a real control plane are not carried out: ${support.reason}`);

describe.runIf(support.supported)("a plan", { timeout: 240_000 }, () => {
  let cluster: ControlPlane;
  let graphs: GraphApi;
  let planner: RunningPlanner;
  let namespace = "default";
  /** While true, the other region is the near one. */
  let isInverted: boolean;
  let saying: NodeJS.Timeout | undefined;

  beforeAll(async () => {
    for (const [name, value] of Object.entries(SETTINGS)) vi.stubEnv(name, value);
    cluster = await startControlPlane({ components: PLANNER_COMPONENTS });
    await cluster.addNodes(NODES.map((name) => ({ name, zone: name, region: regionOf(name), cpu: "4" })));
    graphs = await startGraphApi();
    planner = await startPlanner({ kubeconfig: cluster.kubeconfig, graphUrl: graphs.url });
  }, 900_000);
  afterAll(async () => {
    vi.unstubAllEnvs();
    clearInterval(saying);
    await planner?.stop();
    await graphs?.close();
    await cluster?.close();
  });

  const pods = (): Promise<KubernetesObject[]> => cluster.list("pods", { namespace });

  async function sayGraphs(): Promise<void> {
    const near = (a: string, b: string): boolean => (regionOf(a) === regionOf(b)) !== isInverted;
    const graph = clusterGraph(
      NODES.map((name) => ({ name })),
      (a, b) => (near(a, b) ? 1 : 40),
    );
    const nodes = graph.nodes.map((node) => ({ ...node, zone: node.name, region: regionOf(node.name) }));
    const bound = (await pods()).filter((pod) => nodeNameOf(pod) !== null);
    const workflow = workflowGraph({ web: [], api: [], db: [] }, CHANNELS);
    const workloads = workflow.workloads.map((workload) => ({
      ...workload,
      namespace,
      pods: bound
        .filter(({ metadata }) => metadata.labels?.["app"] === workload.name)
        .map((pod) => ({ name: pod.metadata.name, node: nodeNameOf(pod) })),
    }));
    graphs.say({
      cluster: { ...graph, nodes },
      workflow: { ...workflow, namespace, name: namespace, workloads },
    });
  }

  async function begin(name: string): Promise<Placement> {
    clearInterval(saying);
    await removeAll();
    namespace = name;
    isInverted = true;
    await cluster.createNamespace(namespace);
    await sayGraphs();
    saying = setInterval(() => void sayGraphs().catch(() => undefined), 250);
    // The others are planned once the node of `db` is known.
    for (const workload of ["db", "web", "api"]) {
      if (workload === "web") {
        await cluster.waitFor("pods", (all) => all.length === 1 && nodeNameOf(all[0]!) !== null, {
          namespace,
        });
        await sayGraphs();
      }
      await cluster.create(
        workloadObject(workload, {
          namespace,
          kind: workload === "api" ? "StatefulSet" : "Deployment",
          replicas: REPLICAS[workload]!,
          // No other pod fits next to `db`, where the network costs nothing.
          requests: { cpu: workload === "db" ? "4" : "100m" },
          schedulingGates: [PLACEMENT_GATE],
          spec: {
            terminationGracePeriodSeconds: 0,
            ...(workload === "db" ? { nodeSelector: { [REGION]: "west" } } : {}),
          },
        }),
      );
      const selector = { matchLabels: { app: workload } };
      // The Deployment starts a replacement first. The StatefulSet has one pod less meanwhile.
      const minAvailable = workload === "api" ? 1 : REPLICAS[workload]!;
      await cluster.create({
        ...KINDS.podDisruptionBudget,
        metadata: { namespace, name: workload },
        spec: { minAvailable, selector },
      });
    }
    const before = await settled();
    for (const workload of ["web", "api"])
      expect([...new Set(before[workload]!.map(regionOf))]).toEqual(["east"]);
    isInverted = false;
    await sayGraphs();
    return before;
  }

  /** Frees the nodes for the next test. */
  async function removeAll(): Promise<void> {
    for (const resource of ["deployments", "statefulsets"])
      await cluster.request("DELETE", `/apis/apps/v1/namespaces/${namespace}/${resource}`);
    await cluster.waitFor("pods", (all) => all.length === 0, { namespace });
  }

  const settled = (): Promise<Placement> =>
    cluster.waitFor("pods", (all) => (isWhole(all) ? placementOf(all) : null), {
      namespace,
      timeoutMs: 60_000,
    });

  const isWhole = (all: readonly KubernetesObject[]): boolean =>
    all.every((pod) => pod.metadata.deletionTimestamp === undefined && hasCondition(pod, "Ready")) &&
    Object.entries(REPLICAS).every(([workload, count]) => placementOf(all)[workload]?.length === count);

  async function isochrone(words: readonly string[], mayFail = false): Promise<string> {
    const lines: string[] = [];
    const args = [...words, "--kubeconfig", cluster.kubeconfig];
    await createProgram((text) => lines.push(text))
      .parseAsync(args, { from: "user" })
      .catch((error: unknown) => {
        if (!mayFail) throw error;
      });
    return lines.join("\n");
  }
  const planWords = (words: readonly string[]): string[] => [
    "plan",
    namespace,
    "--server",
    graphs.url,
    ...words,
  ];
  const plan = (...words: readonly string[]): Promise<string> => isochrone(planWords(words));

  function planProcess(...words: readonly string[]): Run {
    const args = [...TUNED, MAIN, ...planWords(words), "--kubeconfig", cluster.kubeconfig];
    const env = { PATH: process.env["PATH"], ...SETTINGS };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    return new Run(child);
  }

  async function shownMoves(): Promise<WorkflowPlanReport["moves"]> {
    let moves: WorkflowPlanReport["moves"] = [];
    await expect
      .poll(async () => {
        const [report] = JSON.parse(await plan("-o", "json")) as [WorkflowPlanReport];
        ({ moves } = report);
        return moves.map(({ obstacle }) => obstacle);
      }, WITHIN)
      .toEqual(Array.from({ length: MOVES }, () => null));
    return moves;
  }

  const namedByDoctor = async (): Promise<string> => {
    // A waiting pod without a running aggregator is a separate error.
    const said = await isochrone(["doctor", "--only", "gates", "-o", "json"], true);
    const { findings } = JSON.parse(said) as { findings: { check: string; value: string }[] };
    return findings.find(({ check }) => check === "moving pods")!.value;
  };

  async function expectClean(): Promise<void> {
    const objects = [
      ...(await pods()),
      ...(await cluster.list(KINDS.replicaSet, { namespace })),
      ...(await cluster.list(KINDS.statefulSet, { namespace })),
    ];
    const left = objects.flatMap(({ kind, metadata }) =>
      OURS.filter((name) => metadata.annotations?.[name] !== undefined).map(
        (name) => `${kind ?? ""} ${metadata.name}: ${name}`,
      ),
    );
    expect(left).toEqual([]);
    expect(await namedByDoctor()).toBe("none");
  }

  test("is carried out as it is shown, within the budgets, and undone", async () => {
    const before = await begin("applied");
    const moves = await shownMoves();
    const least: Record<string, number> = { ...REPLICAS };
    const count = async (): Promise<void> => {
      const ready = placementOf(await pods(), true);
      for (const workload of Object.keys(REPLICAS))
        least[workload] = Math.min(least[workload]!, ready[workload]?.length ?? 0);
    };
    const look = setInterval(() => void count().catch(() => undefined), 50);
    onTestFinished(() => clearInterval(look));
    const applied = await plan("--apply", "--yes");
    const made = [...applied.matchAll(/^moving \d of 4: (\S+) (\S+) -> (\S+)$/gm)].map(
      ([, pod, from, to]) => ({ pod, from, to }),
    );
    expect(made).toEqual(moves.map(({ pod, from, to }) => ({ pod, from, to })));
    const after = await settled();
    for (const workload of ["web", "api"])
      expect(after[workload]).toEqual(
        moves
          .filter((move) => move.workload === workload)
          .map(({ to }) => to)
          .toSorted(),
      );
    expect(await namedByDoctor()).toBe("none");
    expect(await plan("--undo", "--yes")).toContain(`${MOVES} pods moved back.`);
    expect(await settled()).toEqual(before);
    clearInterval(look);
    expect(least).toEqual({ web: 2, api: 1, db: 1 });
    await expectClean();
  });

  const moving = async (): Promise<string[]> =>
    (await pods()).flatMap(({ metadata: { name, annotations, deletionTimestamp } }) =>
      deletionTimestamp === undefined &&
      [MOVING_ANNOTATION, MOVE_TO_ANNOTATION].some((each) => annotations?.[each] !== undefined)
        ? [name]
        : [],
    );

  /** Kills the command while a replacement waits for a node, then lets the replacement have it. */
  async function killedInside(run: Run, isInside: () => Promise<boolean>): Promise<void> {
    await expect.poll(isInside, WITHIN).toBe(true);
    await run.kill();
    const left = await moving();
    const named = await namedByDoctor();
    for (const name of left) expect(named).toContain(`${namespace}/${name}`);
    await cluster.start("scheduler");
    const isThere = (pod: KubernetesObject): boolean => hasCondition(pod, "Ready");
    await cluster.waitFor("pods", (all) => all.every(isThere), { namespace });
  }

  const podOf = async (workload: string): Promise<string> =>
    (await pods()).find(({ metadata }) => metadata.labels?.["app"] === workload)!.metadata.name;

  test.each(["web", "api"])("killed inside the move of a pod of %s can be undone", async (workload) => {
    const before = await begin(`inside-${workload}`);
    await shownMoves();
    const pod = await podOf(workload);
    await cluster.stop("scheduler");
    const run = planProcess("--apply", "--yes", "--pods", pod);
    await killedInside(run, async () => (await pods()).some((each) => nodeNameOf(each) === null));
    expect(await plan("--undo", "--yes")).toContain(pod);
    expect(await settled()).toEqual(before);
    await expectClean();
  });

  test("killed between two steps can be undone", async () => {
    const before = await begin("between");
    await shownMoves();
    const run = planProcess("--apply", "--yes");
    await run.says(/^moved 1 of 4: /m);
    await run.kill();
    const named = await namedByDoctor();
    for (const name of await moving()) expect(named).toContain(`${namespace}/${name}`);
    await cluster.waitFor("pods", (all) => all.every((pod) => hasCondition(pod, "Ready")), { namespace });
    await plan("--undo", "--yes");
    expect(await settled()).toEqual(before);
    await expectClean();
  });

  test("whose undoing is killed can be undone once more", async () => {
    const before = await begin("twice");
    const [move] = (await shownMoves()).filter(({ workload }) => workload === "web");
    await plan("--apply", "--yes", "--pods", move!.pod);
    await settled();
    await cluster.stop("scheduler");
    const run = planProcess("--undo", "--yes");
    await killedInside(run, async () => (await pods()).some((each) => nodeNameOf(each) === null));
    await plan("--undo", "--yes");
    expect(await settled()).toEqual(before);
    await expectClean();
  });
});

class Run {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #said = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#exit = once(child, "close");
    child.stdout!.on("data", (chunk: Buffer) => (this.#said += chunk.toString()));
  }

  async says(what: RegExp): Promise<void> {
    await vi.waitUntil(() => what.test(this.#said), { ...WITHIN, interval: 10 });
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exit;
    if (this.#child.signalCode !== "SIGKILL") throw new Error("the command ended before it was killed");
  }
}

function regionOf(node: string): string {
  return node.split("-")[0]!;
}

/** Nodes by workload, sorted. @param readyOnly only ready pods that are not terminating */
function placementOf(all: readonly KubernetesObject[], readyOnly = false): Placement {
  const counted = all.filter(
    (pod) => !readyOnly || (hasCondition(pod, "Ready") && pod.metadata.deletionTimestamp === undefined),
  );
  const byWorkload = Map.groupBy(counted, ({ metadata }) => metadata.labels?.["app"] ?? "");
  return Object.fromEntries(
    [...byWorkload].map(([workload, some]) => [
      workload,
      some.map((pod) => nodeNameOf(pod) ?? "").toSorted(),
    ]),
  );
}

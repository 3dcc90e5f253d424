import type {
  ClusterGraphSnapshot,
  DecisionList,
  WorkflowGraphSnapshot,
  WorkflowList,
} from "@isochrone/topology";
import { bytes, byId, element, figure, show, table } from "./dom.ts";
import { drawMatrix, type Quantity } from "./matrix.ts";
import { drawChannels, drawWorkflow } from "./workflow.ts";

const REFRESH_MS = 2_000;
const STALE_SECONDS = 30;

interface State {
  cluster: ClusterGraphSnapshot | null;
  workflows: WorkflowList | null;
  workflow: WorkflowGraphSnapshot | null;
  decisions: DecisionList | null;
  error: string | null;
}

const state: State = { cluster: null, workflows: null, workflow: null, decisions: null, error: null };

async function get<T>(path: string): Promise<T> {
  const response = await fetch(path, { headers: { accept: "application/json" } });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return (await response.json()) as T;
}

/** null instead of an error for what may be absent without harm. */
async function tryGet<T>(path: string): Promise<T | null> {
  return get<T>(path).catch(() => null);
}

async function load(): Promise<void> {
  try {
    state.cluster = await get<ClusterGraphSnapshot>("/api/v1/graph/cluster");
    state.workflows = await get<WorkflowList>("/api/v1/graph/workflows");
    const chosen = chosenWorkflow();
    state.workflow =
      chosen === null
        ? null
        : await tryGet<WorkflowGraphSnapshot>(
            `/api/v1/graph/workflows/${chosen.split("/").map(encodeURIComponent).join("/")}`,
          );
    state.decisions = await tryGet<DecisionList>("/api/v1/decisions?limit=10");
    state.error = null;
  } catch (error) {
    state.error = error instanceof Error ? error.message : String(error);
  }
  draw();
}

function chosenWorkflow(): string | null {
  const choice = byId("workflow-choice") as HTMLSelectElement;
  const known = (state.workflows?.workflows ?? []).map(({ namespace, name }) => `${namespace}/${name}`);
  if (
    choice.options.length !== known.length ||
    known.some((name, index) => choice.options[index]?.value !== name)
  ) {
    const selected = choice.value;
    choice.replaceChildren(...known.map((name) => element("option", { value: name }, name)));
    if (known.includes(selected)) choice.value = selected;
  }
  return choice.value === "" ? null : choice.value;
}

function draw(): void {
  drawFreshness();
  if (state.cluster === null)
    return show(
      "matrix",
      element(
        "p",
        { class: "empty" },
        state.error === null ? "loading …" : "No data: the graph can't be read.",
      ),
    );
  drawMatrix(state.cluster, (byId("quantity") as HTMLSelectElement).value as Quantity);
  drawNodes(state.cluster);
  drawDecisions();
  if (state.workflow === null) {
    show("workflow", element("p", { class: "empty" }, "No workflow is known yet."));
    show("channels");
    show("placements", element("p", { class: "empty" }, "No pod is known yet."));
    return;
  }
  drawWorkflow(state.workflow, state.cluster);
  drawChannels(state.workflow, state.cluster);
  drawPlacements(state.workflow, state.cluster);
}

function drawFreshness(): void {
  const line = byId("freshness");
  const { cluster, error } = state;
  const ages = cluster?.links.map(({ ageSeconds }) => ageSeconds ?? Infinity) ?? [];
  const silent = ages.filter((age) => age > STALE_SECONDS).length;
  const age = cluster === null ? null : (Date.now() - Date.parse(cluster.observedAt)) / 1000;
  const stale = age !== null && age > STALE_SECONDS;
  line.classList.toggle("bad", error !== null || stale || silent > 0);
  if (error !== null)
    line.textContent = `not connected: ${error}${cluster === null ? "" : `; showing what was known ${figure(age, 0)} s ago`}`;
  else if (cluster === null) line.textContent = "loading …";
  else
    line.textContent = `graph ${cluster.version}, ${figure(age, 0)} s old, window ${cluster.windowSeconds} s, ${cluster.nodes.length} nodes, ${cluster.links.length} links${silent > 0 ? `, ${silent} without a fresh answer` : ""}`;
}

function drawNodes({ nodes }: ClusterGraphSnapshot): void {
  if (nodes.length === 0) return show("nodes", element("p", { class: "empty" }, "No node is known yet."));
  const rows = nodes.map((node) => [
    node.name,
    node.region ?? "–",
    node.zone ?? "–",
    node.ready ? (node.cordoned ? "cordoned" : "ready") : "not ready",
    `${figure(node.availableCpuMillicores, 0)} / ${figure(node.allocatableCpuMillicores, 0)}`,
    `${bytes(node.availableMemoryBytes)} / ${bytes(node.allocatableMemoryBytes)}`,
    figure(node.usageAgeSeconds, 0),
  ]);
  show(
    "nodes",
    table(
      ["node", "region", "zone", "state", "CPU available, m", "memory available", "usage age, s"],
      rows,
      [0, 1, 2, 3],
    ),
  );
}

function drawPlacements({ workloads }: WorkflowGraphSnapshot, { nodes }: ClusterGraphSnapshot): void {
  const zoneOf = new Map(nodes.map(({ name, zone }) => [name, zone]));
  const rows = workloads.flatMap((workload) =>
    workload.pods.map(({ name, node }) => [
      workload.name,
      name,
      node ?? "not placed",
      zoneOf.get(node ?? "") ?? "–",
      figure(workload.cpuMillicores, 0),
      bytes(workload.memoryBytes),
    ]),
  );
  show("placements", table(["workload", "pod", "node", "zone", "CPU, m", "memory"], rows, [0, 1, 2, 3]));
}

function drawDecisions(): void {
  const decisions = state.decisions?.decisions ?? [];
  if (decisions.length === 0) return show("decisions", element("p", { class: "empty" }, "No decision yet."));
  show(
    "decisions",
    ...decisions.map(({ at, pod, best, explanation }) =>
      element(
        "p",
        {},
        `${at.slice(11, 19)} ${pod.namespace}/${pod.name} → ${best ?? "no node"}: ${explanation[0] ?? ""}`,
      ),
    ),
  );
}

byId("quantity").addEventListener("change", draw);
byId("workflow-choice").addEventListener("change", () => void load());

// The event stream says when there is something new; the timer covers a lost stream and keeps the ages moving.
let waiting = false;
function refreshSoon(): void {
  if (waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    void load();
  }, REFRESH_MS);
}
const events = new EventSource("/api/v1/events");
events.addEventListener("graph", refreshSoon);
events.addEventListener("reset", refreshSoon);
setInterval(refreshSoon, REFRESH_MS * 2);
void load();

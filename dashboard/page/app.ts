import type {
  ClusterGraphSnapshot,
  DecisionList,
  WorkflowGraphSnapshot,
  WorkflowList,
} from "@isochrone/topology";
import { followEvents } from "./events.ts";
import { ask, askForToken, detailOf, installTokenForm, TokenNeeded, tokenWorks } from "./session.ts";
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
  /** Why the newest graphs are not here. */
  error: Failure | null;
}

interface Failure {
  readonly text: string;
  /** Whoever signs in can do something about it. */
  readonly isSignedOut: boolean;
}

const state: State = { cluster: null, workflows: null, workflow: null, decisions: null, error: null };

/** The server has said no. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

async function get<T>(path: string): Promise<T> {
  const response = await ask(path, { headers: { accept: "application/json" } });
  if (!response.ok) throw new Refused(response.status, await detailOf(response));
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
    tokenWorks();
  } catch (error) {
    state.error = failureOf(error);
    if (error instanceof Refused && error.status === 403) askForToken(`Not allowed: ${error.message}.`);
  }
  draw();
}

function failureOf(error: unknown): Failure {
  if (error instanceof TokenNeeded) return { text: "signed out", isSignedOut: true };
  if (error instanceof Refused && error.status === 403)
    return { text: "this account may not read the graphs", isSignedOut: true };
  if (error instanceof Refused) return { text: `no graphs: ${error.message}`, isSignedOut: false };
  // What fetch throws says something else in each browser.
  if (error instanceof TypeError)
    return { text: "not connected: the server can't be reached", isSignedOut: false };
  return {
    text: `not connected: ${error instanceof Error ? error.message : String(error)}`,
    isSignedOut: false,
  };
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
  const { cluster, workflow } = state;
  document.querySelector("main")!.classList.toggle("without-data", cluster === null);
  if (cluster === null) return;
  drawMatrix(cluster, (byId("quantity") as HTMLSelectElement).value as Quantity);
  drawNodes(cluster);
  drawDecisions();
  byId("workflow-controls").hidden = (state.workflows?.workflows.length ?? 0) === 0;
  if (workflow === null) {
    show("workflow", element("p", { class: "empty" }, "No workflow is known yet."));
    show("channels");
    show("placements", element("p", { class: "empty" }, "No pod is known yet."));
    return;
  }
  drawWorkflow(workflow, cluster);
  drawChannels(workflow, cluster);
  drawPlacements(workflow, cluster);
}

function drawFreshness(): void {
  const { cluster, error } = state;
  const ageSeconds = cluster === null ? null : (Date.now() - Date.parse(cluster.observedAt)) / 1000;
  const isStale = ageSeconds !== null && ageSeconds > STALE_SECONDS;
  const silent = cluster === null ? 0 : silentLinks(cluster);
  const line = byId("freshness");
  line.textContent = freshness(state, ageSeconds, silent);
  // That one has to sign in first is no fault.
  const isFault = error !== null && !(error.isSignedOut && cluster === null);
  line.classList.toggle("bad", isFault || isStale || silent > 0);
  byId("notice").textContent = noticeOf(state);
  announce(error?.text ?? (cluster === null ? "" : isStale ? "the graph is old" : "connected"));
}

function silentLinks({ links }: ClusterGraphSnapshot): number {
  return links.filter(({ ageSeconds }) => (ageSeconds ?? Infinity) > STALE_SECONDS).length;
}

function freshness({ cluster, error }: State, ageSeconds: number | null, silent: number): string {
  if (cluster === null) return error?.text ?? "loading …";
  if (error !== null) return `${error.text}; showing what was known ${figure(ageSeconds, 0)} s ago`;
  const { version, windowSeconds, nodes, links } = cluster;
  const without = silent > 0 ? `, ${silent} without a fresh answer` : "";
  return `graph ${version}, ${figure(ageSeconds, 0)} s old, window ${windowSeconds} s, ${nodes.length} nodes, ${links.length} links${without}`;
}

/** What stands in place of the graphs. */
function noticeOf({ error }: State): string {
  if (error === null) return "loading …";
  return error.isSignedOut
    ? ""
    : "The graphs appear here as soon as they can be read; the page keeps trying.";
}

/** Says to who doesn't see the page what has changed, and not each second how old the graph is. */
function announce(change: string): void {
  const line = byId("change");
  if (line.textContent !== change) line.textContent = change;
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
  if (state.decisions === null)
    return show(
      "decisions",
      element("p", { class: "empty" }, "The scheduler plugin's decisions can't be read."),
    );
  const { decisions } = state.decisions;
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
let following = new AbortController();
function follow(): void {
  following.abort();
  following = new AbortController();
  void followEvents({
    open: (lastId, signal) =>
      ask("/api/v1/events", { signal, headers: lastId === "" ? {} : { "last-event-id": lastId } }),
    onEvent: refreshSoon,
    signal: following.signal,
  });
}

function begin(): void {
  void load();
  follow();
}
installTokenForm(begin);
setInterval(refreshSoon, REFRESH_MS * 2);
begin();

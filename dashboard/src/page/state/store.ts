// The page's state as signals. The event stream triggers requests to the API.
import { batch, computed, effect, signal } from "@preact/signals";
import type { GraphHistory, WorkflowList } from "@isochrone/topology";
import { reasonOf } from "@isochrone/primitives";
import type { ClusterView } from "../model/cluster-view.ts";
import { afterReset, afterStream, CONNECTING, type Connection } from "../model/connection.ts";
import { ASK_EVERY_MS, PATIENCE_MS, readAgainMs } from "../model/pace.ts";
import { formatRoute, isAlwaysNow, parseRoute, type Place, type Route, type View } from "../model/route.ts";
import type { Theme } from "../model/scale.ts";
import type { Digest } from "../model/summary.ts";
import { Reader, type Reading } from "./reader.ts";
import { allowed, ask, askForToken, getJson, Refused, serverMs, TokenNeeded, tokenWorks } from "./session.ts";
import { followStream } from "./stream.ts";

export interface Failure {
  readonly text: string;
  readonly isSignedOut: boolean;
}

export const cluster = signal<ClusterView | null>(null);
export const digest = signal<Digest | null>(null);
export const workflows = signal<WorkflowList | null>(null);
export const history = signal<GraphHistory | null>(null);
export const failure = signal<Failure | null>(null);
export const connection = signal<Connection>(CONNECTING);
/** Counts graph answers; pages refetch other data with each. */
export const round = signal(0);
export const nowMs = signal(serverMs());
export const route = signal<Route>(parseRoute(location.hash));
export const reader: Reader = new Reader();

/** The displayed moment for the API; empty: now. */
export const moment = computed(() => (isAlwaysNow(route.value.place) ? "" : (route.value.view.at ?? "")));
export const askedMs = signal<number | null>(null);

const HISTORY_MS = 10_000;

const CHOICE_KEY = "isochrone-theme";
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(darkQuery.matches);
darkQuery.addEventListener("change", ({ matches }) => (systemDark.value = matches));
export type ThemeChoice = Theme | "system";
const stored = localStorage.getItem(CHOICE_KEY);
export const themeChoice = signal<ThemeChoice>(stored === "light" || stored === "dark" ? stored : "system");
export const theme = computed<Theme>(() =>
  themeChoice.value === "system" ? (systemDark.value ? "dark" : "light") : themeChoice.value,
);
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  if (themeChoice.value === "system") localStorage.removeItem(CHOICE_KEY);
  else localStorage.setItem(CHOICE_KEY, themeChoice.value);
});

addEventListener("hashchange", () => (route.value = parseRoute(location.hash)));

export function linkTo(place: Place, view: Partial<View> = {}): string {
  return formatRoute({ place, view: { ...route.value.view, ...view } });
}

export function goTo(place: Place, view: Partial<View> = {}): void {
  location.hash = linkTo(place, view);
}

/** Changes the view without a history entry. */
export function look(view: Partial<View>, place = route.peek().place): void {
  const next = { place, view: { ...route.peek().view, ...view } };
  globalThis.history.replaceState(null, "", formatRoute(next));
  route.value = next;
}

export function ofMoment(path: string, at: string): string {
  return at === "" ? path : `${path}${path.includes("?") ? "&" : "?"}at=${encodeURIComponent(at)}`;
}

let running: Promise<void> | null = null;
let isWanted = false;
let notBeforeMs = 0;
let wake: () => void = () => undefined;

/** Reads the graphs now or after the pending read; requests are merged. */
export function refresh(isUrgent = false): void {
  isWanted = true;
  if (isUrgent) {
    notBeforeMs = 0;
    wake();
  }
  running ??= drain().finally(() => (running = null));
}

async function drain(): Promise<void> {
  // A hidden tab waits until shown, leaving connections to other tabs.
  while (isWanted && !(document.hidden && cluster.peek() !== null)) {
    const waitMs = notBeforeMs - performance.now();
    if (waitMs > 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, waitMs);
      });
      continue;
    }
    isWanted = false;
    const began = performance.now();
    askedMs.value = serverMs();
    await load();
    askedMs.value = null;
    notBeforeMs = readAgainMs(began, performance.now(), connection.peek().state === "live");
  }
}

async function readCluster(path: string): Promise<Reading> {
  let reading: Reading | null = null;
  const response = await ask(path, {}, async (asked, { headers }) => {
    const url = new URL(asked, document.baseURI).href;
    const answer = await reader.read(url, Object.fromEntries(headers), PATIENCE_MS);
    if ("view" in answer) reading = answer;
    return "view" in answer ? new Response() : new Response(answer.text, { status: answer.status });
  });
  await allowed(response);
  return reading!;
}

async function load(): Promise<void> {
  const at = moment.peek();
  try {
    const { view, digest: said } = await readCluster(ofMoment("api/v1/graph/cluster/columns", at));
    const list = await getJson<WorkflowList>(
      ofMoment("api/v1/graph/workflows", at),
      AbortSignal.timeout(PATIENCE_MS),
    );
    if (at !== moment.peek()) return refresh(true);
    batch(() => {
      if (view.version !== cluster.peek()?.version || view.observedAt !== cluster.peek()?.observedAt) {
        cluster.value = view;
        digest.value = said;
      }
      workflows.value = list;
      failure.value = null;
      round.value++;
    });
    tokenWorks();
  } catch (error) {
    const next = failureOf(error);
    if (next.text !== failure.peek()?.text) failure.value = next;
    if (error instanceof Refused && error.status === 403) askForToken(`Not allowed: ${error.message}.`);
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof TokenNeeded) return { text: "signed out", isSignedOut: true };
  if (error instanceof Refused && error.status === 403)
    return { text: "this account may not read the graphs", isSignedOut: true };
  if (error instanceof Refused) return { text: `no graphs: ${error.message}`, isSignedOut: false };
  if (error instanceof DOMException && error.name === "TimeoutError")
    return { text: `not connected: no answer within ${PATIENCE_MS / 1000} s`, isSignedOut: false };
  // Error texts of fetch differ between browsers.
  if (error instanceof TypeError)
    return { text: "not connected: the server can't be reached", isSignedOut: false };
  const text = reasonOf(error);
  return { text: `not connected: ${text}`, isSignedOut: false };
}

async function loadHistory(): Promise<void> {
  if (document.hidden && history.peek() !== null) return;
  history.value = await getJson<GraphHistory>("api/v1/graph/history").catch(() => history.peek());
}

export function start(): void {
  let shown = moment.peek();
  effect(() => {
    if (moment.value === shown) return;
    shown = moment.value;
    refresh(true);
  });
  refresh();
  void loadHistory();
  setInterval(() => {
    nowMs.value = serverMs();
    if (connection.peek().state !== "live" && moment.peek() === "") refresh();
  }, ASK_EVERY_MS);
  setInterval(() => void loadHistory(), HISTORY_MS);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh(true);
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) refresh(true);
  });
  followStream("api/v1/events?changes=none", {
    onEvent: (type) => {
      if (type === "reset") connection.value = afterReset(connection.peek());
      if (moment.peek() === "") refresh();
    },
    onState: (isOpen) => {
      const before = connection.peek();
      if (isOpen === null) {
        if (before.state === "live") connection.value = CONNECTING;
        return;
      }
      if (before.state === (isOpen ? "live" : "lost")) return;
      connection.value = afterStream(before, isOpen, serverMs());
      // Stream lost: ask at once. Stream opened earlier by other tabs: catch up.
      if (moment.peek() === "") refresh(!isOpen);
      if (!isOpen) return;
      setTimeout(() => (connection.value = { ...connection.peek(), news: null }), 20_000);
    },
  });
}

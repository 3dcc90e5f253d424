// Validates and bounds answers, and requests only changes.
import { reasonOf } from "@isochrone/primitives";
import { GraphClientError } from "./errors.ts";
import type { Bill, PriceList } from "./bill/bill.ts";
import type { Savings } from "./bill/savings.ts";
import { parseDemand, type Demand } from "./demand/demand.ts";
import { ActListSchema, DecisionListSchema } from "./decision-schema.ts";
import type { ActList, DecisionList } from "./decision-schema.ts";
import { HealthSchema } from "./operation-schema.ts";
import type { Health } from "./operation-schema.ts";
import { parseFlowPlan, parseFlowPlans, type FlowPlan } from "./flows/flow-plan.ts";
import { parseStreams, type StreamsSnapshot } from "./flows/streams.ts";
import { parseTraffic, type TrafficSnapshot } from "./demand/traffic.ts";
import { ProbePlanSchema, WorkflowListSchema } from "./schema.ts";
import type { ClusterGraphSnapshot, Link, ProbePlan, WorkflowGraphSnapshot, WorkflowList } from "./schema.ts";
import {
  joinDropped,
  NOTHING_DROPPED,
  readClusterGraph,
  readWorkflowGraph,
  readWorkflowGraphs,
} from "./tolerant.ts";
import type { Dropped, Read } from "./tolerant.ts";
import { jsonAnswer, statusError } from "./status-error.ts";
import { checkSchema, compiledLate, type LateValidator } from "./validation.ts";
import type { GraphAnswer, GraphClientOptions, GraphFetch } from "./client-options.ts";

export type { GraphClientOptions, GraphFetch } from "./client-options.ts";
export { GraphClientError } from "./errors.ts";

interface Fetched<T> {
  readonly value: T;
  /** Whether the answer changed. If not, `value` is the previous object. */
  readonly changed: boolean;
  /** Parts of the answer that were omitted because they break a rule of the graphs. */
  readonly dropped: Dropped;
}

interface WorkflowChanges {
  readonly id: string;
  readonly version: number;
  /** Time of the graphs, RFC 3339. */
  readonly observedAt: string;
  /** All workflows, changed or not. */
  readonly workflows: WorkflowList["workflows"];
  /** Changed graphs, and graphs whose change is unknown. */
  readonly graphs: readonly WorkflowGraphSnapshot[];
  readonly dropped: Dropped;
}

interface DecisionQuery {
  readonly id?: string;
  readonly namespace?: string;
  readonly pod?: string;
  readonly limit?: number;
  readonly now?: boolean;
}

interface BillQuery {
  readonly namespace?: string;
  readonly limit?: number;
}

interface Cached {
  readonly etag: string;
  readonly read: Read<unknown>;
}

const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_MAX_PAGES = 10_000;
/** Maximum rereads of a graph that is republished while its pages are read. */
const MAX_RESTARTS = 3;
/** Maximum cached answers with ETags, evicted LRU. */
const MAX_CACHED = 1_000;

// Compiled at first use: a command asks for one or two of them.
const actList = compiledLate(ActListSchema);
const decisionList = compiledLate(DecisionListSchema);
const health = compiledLate(HealthSchema);
const probePlan = compiledLate(ProbePlanSchema);
const workflowList = compiledLate(WorkflowListSchema);

export class GraphClient {
  readonly #base: string;
  readonly #fetch: GraphFetch;
  readonly #timeoutMs: number;
  readonly #maxBodyBytes: number;
  readonly #maxPages: number;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #cache = new Map<string, Cached>();
  #serverMs: number | null = null;

  constructor(options: GraphClientOptions) {
    this.#base = options.baseUrl.replace(/\/+$/, "");
    this.#fetch = options.fetch ?? fetch;
    this.#timeoutMs = options.timeoutMs;
    this.#maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
    this.#maxPages = options.maxPages ?? DEFAULT_MAX_PAGES;
    this.#headers = options.headers ?? {};
  }

  /** Server's wall clock at its last answer, ms. Null: unknown. */
  get serverMs(): number | null {
    return this.#serverMs;
  }

  /** Reads all pages of the cluster graph. Throws GraphClientError, SnapshotError. */
  async cluster(signal?: AbortSignal): Promise<Fetched<ClusterGraphSnapshot>> {
    const path = "/api/v1/graph/cluster";
    for (let attempt = 0; attempt < MAX_RESTARTS; attempt++) {
      const graph = await this.#cached(path, readClusterGraph, signal, (first) =>
        this.#joinPages(path, first, signal),
      );
      if (graph !== null) return graph;
    }
    throw new GraphClientError(
      "unsettled",
      this.#base + path,
      `published anew between its pages ${MAX_RESTARTS} times`,
      {
        retryable: true,
      },
    );
  }

  async workflows(signal?: AbortSignal): Promise<Fetched<WorkflowList>> {
    return this.#read(
      "/api/v1/graph/workflows",
      (json) => checked("workflow list", workflowList, json),
      signal,
    );
  }

  /**
   * Returns graphs changed since the id of an earlier answer; null or an unknown id: all. Throws
   * GraphClientError, SnapshotError.
   */
  async workflowChanges(since: string | null, signal?: AbortSignal): Promise<WorkflowChanges> {
    const query = new URLSearchParams({ include: "graphs", ...(since === null ? {} : { since }) });
    const path = (): string => `/api/v1/graph/workflows?${query.toString()}`;
    const first = await this.#workflowPage(path(), signal);
    const graphs = [...first.graphs];
    let { dropped } = first;
    let cursor = first.nextCursor;
    for (let page = 1; cursor !== null; page++) {
      query.set("cursor", cursor);
      if (page >= this.#maxPages)
        throw new GraphClientError(
          "too_large",
          this.#base + path(),
          `the workflows have more than ${this.#maxPages} pages`,
        );
      const next = await this.#workflowPage(path(), signal);
      for (const graph of next.graphs) graphs.push(graph);
      dropped = joinDropped(dropped, next.dropped);
      cursor = next.nextCursor;
    }
    // Graphs built while pages were read count as changed since the first page's id.
    const { id, version, observedAt, workflows } = first;
    return { id, version, observedAt, workflows, graphs, dropped };
  }

  async #workflowPage(
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<WorkflowChanges & { readonly nextCursor: string | null }> {
    const { json } = await this.#get(path, null, signal);
    const found = graphsOf(json);
    const list = checked("workflow list", workflowList, found.list);
    const { id, nextCursor = null } = list;
    if (id === undefined || found.graphs === undefined)
      throw new GraphClientError("malformed", this.#base + path, "the answer has no graphs");
    const { value: graphs, dropped } = readWorkflowGraphs(found.graphs);
    return { ...list, id, graphs, nextCursor, dropped };
  }

  async workflow(
    namespace: string,
    name: string,
    signal?: AbortSignal,
  ): Promise<Fetched<WorkflowGraphSnapshot>> {
    const path = `/api/v1/graph/workflows/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
    return (await this.#cached(path, readWorkflowGraph, signal, (read) => Promise.resolve(read)))!;
  }

  /** Reads a page that earlier releases answer with 404 (GraphClientError). */
  async demand(signal?: AbortSignal): Promise<Fetched<Demand>> {
    return this.#read("/api/v1/graph/demand", parseDemand, signal);
  }

  /** Reads the `limit` most expensive lines. Earlier releases answer 404 (GraphClientError). */
  async bill(query: BillQuery = {}, signal?: AbortSignal): Promise<Fetched<Bill>> {
    // Loaded lazily: most commands don't need it.
    const { parseBill } = await import("./bill/bill.ts");
    return this.#read(withQuery("/api/v1/graph/bill", query), parseBill, signal);
  }

  async prices(signal?: AbortSignal): Promise<Fetched<PriceList>> {
    const { parsePriceList } = await import("./bill/bill.ts");
    return this.#read("/api/v1/graph/prices", parsePriceList, signal);
  }

  async savings(query: BillQuery = {}, signal?: AbortSignal): Promise<Fetched<Savings>> {
    const { parseSavings } = await import("./bill/savings.ts");
    return this.#read(withQuery("/api/v1/savings", query), parseSavings, signal);
  }

  async decisions(query: DecisionQuery = {}, signal?: AbortSignal): Promise<Fetched<DecisionList>> {
    const path = withQuery("/api/v1/decisions", query);
    return this.#read(path, (json) => checked("decision list", decisionList, json), signal);
  }

  /** Acts on pods and workloads whose names contain `workload`, newest first. */
  async acts(query: { readonly namespace: string; readonly workload: string }): Promise<Fetched<ActList>> {
    const path = withQuery("/api/v1/acts", query);
    return this.#read(path, (json) => checked("list of acts", actList, json), undefined);
  }

  /** The aggregator's own state. An earlier release has no such page: GraphClientError of status 404. */
  async health(signal?: AbortSignal): Promise<Fetched<Health>> {
    return this.#read("/api/v1/health", (json) => checked("health", health, json), signal);
  }

  async probePlan(node: string, signal?: AbortSignal): Promise<Fetched<ProbePlan>> {
    const path = `/api/v1/probe-plan/${encodeURIComponent(node)}`;
    return this.#read(path, (json) => checked("probe plan", probePlan, json), signal);
  }

  /** Reads a node's flow plan. An aggregator without plans answers 503, which is retryable. */
  async flowPlan(node: string, signal?: AbortSignal): Promise<Fetched<FlowPlan>> {
    return this.#read(`/api/v1/flow-plan/${encodeURIComponent(node)}`, parseFlowPlan, signal);
  }

  async flowPlans(signal?: AbortSignal): Promise<Fetched<readonly FlowPlan[]>> {
    return this.#read("/api/v1/flow-plans", parseFlowPlans, signal);
  }

  async streams(signal?: AbortSignal): Promise<Fetched<StreamsSnapshot>> {
    return this.#read("/api/v1/streams", parseStreams, signal);
  }

  async traffic(signal?: AbortSignal): Promise<Fetched<TrafficSnapshot>> {
    return this.#read("/api/v1/traffic", parseTraffic, signal);
  }

  /** Returns an unparsed page, for forwarding. Throws GraphClientError. */
  async page(path: string, query: object, signal?: AbortSignal): Promise<unknown> {
    return (await this.#get(withQuery(path, query), null, signal)).json;
  }

  async #read<T>(
    path: string,
    parse: (json: unknown) => T,
    signal: AbortSignal | undefined,
  ): Promise<Fetched<T>> {
    const read = (json: unknown): Read<T> => ({ value: parse(json), dropped: NOTHING_DROPPED });
    return (await this.#cached(path, read, signal, (answer) => Promise.resolve(answer)))!;
  }

  async #cached<T>(
    path: string,
    parse: (json: unknown) => Read<T>,
    signal: AbortSignal | undefined,
    complete: (first: Read<T>) => Promise<Read<T> | null>,
  ): Promise<Fetched<T> | null> {
    const before = this.#cache.get(path);
    const answer = await this.#get(path, before?.etag ?? null, signal);
    if (answer.json === undefined) return { ...(before!.read as Read<T>), changed: false };
    const read = await complete(parse(answer.json));
    if (read === null) return null;
    this.#cache.delete(path);
    if (answer.etag !== null) {
      if (this.#cache.size >= MAX_CACHED) this.#cache.delete(this.#cache.keys().next().value!);
      this.#cache.set(path, { etag: answer.etag, read });
    }
    return { ...read, changed: true };
  }

  /** Joins the pages of a graph. Null: a page has another version. */
  async #joinPages(
    path: string,
    { value: first, ...read }: Read<ClusterGraphSnapshot>,
    signal: AbortSignal | undefined,
  ): Promise<Read<ClusterGraphSnapshot> | null> {
    const links: Link[] = first.links;
    let { dropped } = read;
    let cursor = first.nextCursor ?? null;
    for (let page = 1; cursor !== null; page++) {
      const next = `${path}?cursor=${encodeURIComponent(cursor)}`;
      if (page >= this.#maxPages) {
        throw new GraphClientError(
          "too_large",
          this.#base + next,
          `the graph has more than ${this.#maxPages} pages`,
        );
      }
      const answer = await this.#get(next, null, signal);
      const { value: snapshot, dropped: more } = readClusterGraph(answer.json);
      if (snapshot.version !== first.version) return null;
      for (const link of snapshot.links) links.push(link);
      dropped = joinDropped(dropped, more);
      cursor = snapshot.nextCursor ?? null;
    }
    return { value: { ...first, links, nextCursor: null }, dropped };
  }

  /** Requests a page. `json` is undefined for "not modified". */
  async #get(
    path: string,
    etag: string | null,
    signal: AbortSignal | undefined,
  ): Promise<{ json: unknown; etag: string | null }> {
    const url = this.#base + path;
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    try {
      const response = await this.#fetch(url, {
        headers: {
          accept: "application/json",
          ...this.#headers,
          ...(etag === null ? {} : { "if-none-match": etag }),
        },
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      });
      const dateMs = Date.parse(response.headers.get("date") ?? "");
      this.#serverMs = Number.isNaN(dateMs) ? null : dateMs;
      if (response.status === 304 && etag !== null) {
        await response.body?.cancel();
        return { json: undefined, etag };
      }
      const text = await this.#body(url, response);
      if (!response.ok) throw statusError(url, response, text);
      return { json: jsonAnswer(url, text), etag: response.headers.get("etag") };
    } catch (error) {
      if (error instanceof GraphClientError || signal?.aborted === true) throw error;
      if (timeout.aborted) {
        throw new GraphClientError("timeout", url, `no complete answer within ${this.#timeoutMs} ms`, {
          retryable: true,
          cause: error,
        });
      }
      throw new GraphClientError("unreachable", url, reasonOf(error), { retryable: true, cause: error });
    }
  }

  /** Reads a body up to the limit, whatever content-length says. */
  async #body(url: string, response: GraphAnswer): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      // Leaving the loop cancels the stream and closes the connection.
      if (bytes > this.#maxBodyBytes) {
        throw new GraphClientError("too_large", url, `the answer is larger than ${this.#maxBodyBytes} bytes`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  }
}

function withQuery(path: string, query: object): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) search.set(key, String(value));
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

function graphsOf(json: unknown): {
  readonly list: unknown;
  readonly graphs: readonly unknown[] | undefined;
} {
  if (typeof json !== "object" || json === null || !("graphs" in json) || !Array.isArray(json.graphs))
    return { list: json, graphs: undefined };
  return { list: { ...json, graphs: [] }, graphs: json.graphs as unknown[] };
}

function checked<T>(document: string, schema: LateValidator<T>, json: unknown): T {
  checkSchema(document, schema, json);
  return json;
}

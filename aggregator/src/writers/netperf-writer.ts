import {
  fencedStore,
  isStoreError,
  KINDS,
  timestamp,
  type ClusterStore,
  type EventRecorder,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { withDeadline, type Clock, type Logger } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { hasNetperfChanged, netperfEntries, sizeBytes, withEntries } from "./domain/netperf.ts";
import type { WriteResult } from "./metrics.ts";
import { FIELD_MANAGER } from "./object-writer.ts";

/** The API server's limit of a ConfigMap. */
const MAX_CONFIG_MAP_BYTES = 1024 * 1024;
const WRITE_DEADLINE_MS = 30_000;
/** Share of the refresh interval after which a refresh is due, because checks run once per interval. */
const DUE_SHARE = 0.9;

interface NetperfWriterOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: Pick<EventRecorder, "event">;
  /** `namespace/name`. */
  readonly configMap: string;
  readonly prefix: string;
  readonly refreshMs: number;
}

interface NetperfOutcome {
  readonly result: WriteResult | null;
  readonly unnamed: number;
}

/** Updates the version that was read: an apply would list every key again in managedFields. */
export class NetperfWriter {
  readonly #options: NetperfWriterOptions;
  readonly #ref: typeof KINDS.configMap & { readonly namespace: string; readonly name: string };
  #isTooLarge = false;
  #observedMs: number | null = null;

  constructor(options: NetperfWriterOptions) {
    this.#options = options;
    const [namespace = "", name = ""] = options.configMap.split("/");
    this.#ref = { ...KINDS.configMap, namespace, name };
  }

  get isTooLarge(): boolean {
    return this.#isTooLarge;
  }

  /** Age of the written entries, ms; null: unknown. */
  get ageMs(): number | null {
    return this.#observedMs === null ? null : Math.max(0, this.#options.clock.now() - this.#observedMs);
  }

  /** Never rejects. */
  async look(graph: ClusterGraphSnapshot, mayWrite: () => boolean): Promise<NetperfOutcome> {
    const { data, lost, unnamed } = netperfEntries(graph);
    // Without measurements nothing is known, so remove nothing.
    if (data.size === 0) return { result: null, unnamed };
    let verb = "get";
    try {
      const stored = await this.#timed(() => this.#options.store.get(this.#ref));
      const before = stored?.data ?? {};
      const after = withEntries(before, data);
      if (sizeBytes(after) >= MAX_CONFIG_MAP_BYTES)
        return { result: this.#tooLarge(stored, data.size), unnamed };
      this.#isTooLarge = false;
      if (!hasNetperfChanged(before, { data, lost }) && !this.#isDue(stored))
        return { result: null, unnamed };
      if (!mayWrite()) return { result: "disowned", unnamed };
      verb = stored === null ? "create" : "update";
      await this.#write(stored, after, mayWrite);
      this.#observedMs = this.#options.clock.now();
      return { result: "written", unnamed };
    } catch (error) {
      return { result: this.#failed(verb, error), unnamed };
    }
  }

  async #write(
    stored: KubernetesObject | null,
    data: Record<string, string>,
    mayWrite: () => boolean,
  ): Promise<void> {
    const { clock, prefix } = this.#options;
    const store = fencedStore(this.#options.store, { mayWrite, reason: "another replica leads" });
    const { apiVersion, kind, namespace, name } = this.#ref;
    const annotations = { [`${prefix}observed-at`]: timestamp(clock.now()) };
    const object: KubernetesObject = stored ?? { apiVersion, kind, metadata: { namespace, name } };
    const next = {
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
      data,
    };
    await this.#timed(() =>
      stored === null ? store.create(next) : store.update(next, { fieldManager: FIELD_MANAGER }),
    );
  }

  #isDue(stored: KubernetesObject | null): boolean {
    const { prefix, refreshMs, clock } = this.#options;
    const observedMs = Date.parse(stored?.metadata.annotations?.[`${prefix}observed-at`] ?? "");
    if (Number.isNaN(observedMs)) return true;
    this.#observedMs = observedMs;
    // A time far in the future is a clock error; do not wait for it.
    return Math.abs(clock.now() - observedMs) >= DUE_SHARE * refreshMs;
  }

  /** Logs once until it fits again. */
  #tooLarge(stored: KubernetesObject | null, pairs: number): null {
    const { logger, events, configMap } = this.#options;
    if (this.#isTooLarge) return null;
    this.#isTooLarge = true;
    const note = `${pairs} measured pairs would make it reach 1 MiB: it is left untouched`;
    logger.warn("KEP-260's ConfigMap is too large", { configMap, pairs, maxBytes: MAX_CONFIG_MAP_BYTES });
    events.event(stored ?? this.#ref, { type: "Warning", reason: "TooLarge", action: "Update", note });
    return null;
  }

  #failed(verb: string, error: unknown): WriteResult {
    const { logger, configMap } = this.#options;
    const isConflict = isStoreError(error, "conflict") || isStoreError(error, "already_exists");
    // A concurrent write won; the next check sees it.
    if (isConflict) return "conflict";
    if (isStoreError(error, "not_found")) return "gone";
    if (isStoreError(error, "fenced")) return "disowned";
    const isForbidden = isStoreError(error, "forbidden");
    logger.warnOnce(`netperf:${verb}`, "KEP-260's ConfigMap not written", {
      configMap,
      ...(isForbidden ? { verb, resource: "configmaps" } : {}),
      error,
    });
    if (isForbidden) return "forbidden";
    return isStoreError(error, "invalid") ? "refused" : "failed";
  }

  #timed<T>(work: () => Promise<T>): Promise<T> {
    return withDeadline(this.#options.clock, WRITE_DEADLINE_MS, "KEP-260's ConfigMap", work);
  }
}

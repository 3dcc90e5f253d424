import type { KubernetesObject } from "@isochrone/kubernetes";
import { CodedError } from "@isochrone/runtime/basics";
import { looseFields, reasonOf } from "@isochrone/primitives";
import type { RecordAnswer, StoreAnswer, StoreCall } from "./control.ts";
import type { LinkAnswer } from "./link-routes.ts";
import type { NetworkTruth } from "./network/emulated-network.ts";
import type { LinkChange } from "./network/links.ts";

export class LabClientError extends CodedError {
  readonly status: number | null;

  constructor(code: string, message: string, status: number | null, cause?: unknown) {
    const retryable = status === null || status === 503;
    super(code, message, cause === undefined ? { retryable } : { retryable, cause });
    this.status = status;
  }
}

interface LabClientOptions {
  readonly timeoutMs?: number;
  /** Required for changes and for reading objects. @default none */
  readonly token?: string | null;
}

export class LabClient {
  readonly #url: string;
  readonly #timeoutMs: number;
  readonly #token: string | null;

  constructor(url: string, options: LabClientOptions = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#timeoutMs = options.timeoutMs ?? 5000;
    this.#token = options.token ?? null;
  }

  async matrix(): Promise<NetworkTruth> {
    return this.#ask("GET", "/lab/v1/matrix");
  }

  /** Changes both directions unless `oneWay`; returns the new state. */
  async setLink(
    a: string,
    b: string,
    change: LinkChange,
    options: { readonly oneWay?: boolean } = {},
  ): Promise<readonly LinkAnswer[]> {
    const { rttMs: delayMs, ...rest } = change;
    const path = `/lab/v1/links/${encodeURIComponent(a)}/${encodeURIComponent(b)}`;
    return (await this.#ask<{ links: readonly LinkAnswer[] }>("PUT", path, { ...rest, delayMs, ...options }))
      .links;
  }

  /** Kills a node of the embedded cluster: its pods end and nothing reaches it. */
  async killNode(node: string): Promise<void> {
    await this.#ask("POST", `/lab/v1/nodes/${encodeURIComponent(node)}/kill`, {});
  }

  /** @param lastMs how far back @default 30000 */
  async record(lastMs = 30_000): Promise<RecordAnswer> {
    return this.#ask("GET", `/lab/v1/record?last=${lastMs}ms`);
  }

  /** Receivers' own counters; the cluster defines the format. */
  async receivers(): Promise<unknown> {
    return this.#ask("GET", "/lab/v1/receivers");
  }

  /** End-to-end latency of the workflow; the cluster defines the format. */
  async workflow(): Promise<unknown> {
    return this.#ask("GET", "/lab/v1/workflow");
  }

  async objects(): Promise<{ readonly items: readonly KubernetesObject[] }> {
    return this.#ask("GET", "/lab/v1/objects");
  }

  async store<T>(call: StoreCall): Promise<StoreAnswer<T>> {
    return this.#ask("POST", "/lab/v1/store", call);
  }

  async #ask<T>(method: "GET" | "PUT" | "POST", path: string, body?: unknown): Promise<T> {
    let response: Response;
    try {
      response = await fetch(this.#url + path, {
        method,
        signal: AbortSignal.timeout(this.#timeoutMs),
        headers: {
          ...(this.#token === null ? {} : { authorization: `Bearer ${this.#token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        redirect: "error",
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (cause) {
      throw new LabClientError(
        "unreachable",
        `no lab answers at ${this.#url}: ${reasonOf(cause)}`,
        null,
        cause,
      );
    }
    const answer: unknown = await response.json().catch(() => null);
    if (response.ok) return answer as T;
    const { code, detail } = looseFields<Record<"code" | "detail", unknown>>(answer);
    throw new LabClientError(
      typeof code === "string" ? code : "failed",
      `${method} ${path}: ${typeof detail === "string" ? detail : `status ${response.status}`}`,
      response.status,
    );
  }
}

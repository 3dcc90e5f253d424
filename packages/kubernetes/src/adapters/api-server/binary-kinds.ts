import type { Logger } from "@isochrone/runtime";

import { KINDS } from "../../kinds.ts";
import type { KindRef } from "../../store/port.ts";
import type { ApiServerObserver } from "./client.ts";

/**
 * Pods are read in binary form, which the API server encodes once for all watchers. After an unknown field,
 * falls back to JSON, which includes it.
 */
export class BinaryKinds {
  readonly #logger: Logger;
  readonly #observer: ApiServerObserver;
  #isOn = true;

  constructor(logger: Logger, observer: ApiServerObserver) {
    this.#logger = logger;
    this.#observer = observer;
  }

  has({ apiVersion, kind }: KindRef): boolean {
    return this.#isOn && kind === KINDS.pod.kind && apiVersion === KINDS.pod.apiVersion;
  }

  /** @param field message and number, such as "PodSpec 45" */
  giveUp({ kind }: KindRef, field: string): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#observer.watchRenewed?.(kind, "unknown_field");
    this.#logger.warn("objects have a field that this version doesn't know, they are read as JSON", {
      kind,
      field,
    });
  }
}

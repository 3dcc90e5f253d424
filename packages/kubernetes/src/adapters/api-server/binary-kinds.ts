import type { Logger } from "@isochrone/runtime";

import { KINDS } from "../../kinds.ts";
import type { KindRef } from "../../store/port.ts";
import type { ApiServerObserver } from "./client.ts";

/**
 * Kinds that are read in their binary form, which an API server makes once for all its watchers: pods. One in
 * which a field is met that this version doesn't know is read as JSON from then on, where the field has its
 * name and whoever looks at the object sees it.
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

  /** @param field message and number, as "PodSpec 45" */
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

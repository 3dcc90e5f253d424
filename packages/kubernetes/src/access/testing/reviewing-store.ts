import type { Clock } from "@isochrone/runtime";
import { createMemoryStore } from "../../adapters/memory/memory.ts";
import type { StoreError } from "../../store/errors.ts";
import type { ClusterStore, KubernetesObject } from "../../store/port.ts";

export class ReviewingStore {
  readonly store: ClusterStore;
  readonly users = new Map<string, string>();
  /** Allowed requests as `user verb path`; the path may end in `*`. */
  readonly rules: string[] = [];
  readonly extras = new Map<string, Readonly<Record<string, readonly string[]>>>();
  readonly asked: KubernetesObject[] = [];
  audiences: string[] | undefined = ["isochrone"];
  failure: StoreError | null = null;
  gate: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    const memory = createMemoryStore({ clock, review: (review) => this.#statusOf(review) });
    this.store = new Proxy(memory, {
      get: (target, name) => (name === "create" ? this.#create(target) : Reflect.get(target, name)),
    });
  }

  count(kind: "TokenReview" | "SubjectAccessReview"): number {
    return this.asked.filter((each) => each.kind === kind).length;
  }

  #create(memory: ClusterStore): ClusterStore["create"] {
    return async (object) => {
      this.asked.push(object);
      await this.gate;
      if (this.failure !== null) throw this.failure;
      return await memory.create(object);
    };
  }

  #statusOf({ kind, spec = {} }: KubernetesObject): Record<string, unknown> {
    if (kind === "TokenReview") {
      const user = this.users.get(String(spec["token"]));
      if (user === undefined) return { authenticated: false, error: "internal words" };
      const token = String(spec["token"]);
      const extra = {
        "authentication.kubernetes.io/pod-name": [`pod-of-${token}`],
        ...this.extras.get(token),
      };
      return {
        authenticated: true,
        user: { username: user, groups: ["g"], extra },
        audiences: this.audiences,
      };
    }
    const { verb, path } = spec["nonResourceAttributes"] as { verb: string; path: string };
    const wanted = `${String(spec["user"])} ${verb} ${path}`;
    const allowed = this.rules.some((rule) =>
      rule.endsWith("*") ? wanted.startsWith(rule.slice(0, -1)) : rule === wanted,
    );
    return { allowed };
  }
}

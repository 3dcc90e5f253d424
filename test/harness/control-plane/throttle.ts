import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import { throttleObjects, type Rule } from "./access.ts";
import type { ApiClient } from "./api-client.ts";
import { userNameOf, type Identity } from "./kubeconfig.ts";

interface Cluster {
  create(objects: readonly KubernetesObject[]): Promise<KubernetesObject[]>;
  remove(ref: ObjectRef): Promise<void>;
  grant(identity: Identity, rules: readonly Rule[]): Promise<void>;
  clientOf(identity: Identity): Promise<ApiClient>;
}

const POLL_MS = 20;
const WITHIN_MS = 20_000;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

/** Makes the API server reject a user with 429. The returned function ends it. */
export async function throttle(cluster: Cluster, identity: Identity): Promise<() => Promise<void>> {
  const name = `throttle-${randomUUID()}`;
  // A level without seats serves one request while idle. A request without its body occupies it.
  const occupant = { user: name };
  // Needs permissions, otherwise it is rejected. An administrator would be exempt.
  await cluster.grant(occupant, [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }]);
  const objects = throttleObjects(name, [userNameOf(identity), occupant.user]);
  await cluster.create(objects);
  const victim = await cluster.clientOf(identity);
  const sitting = await cluster.clientOf(occupant);
  const until = async (throttled: boolean): Promise<void> => {
    for (const deadline = performance.now() + WITHIN_MS; ; await sleep(POLL_MS)) {
      const { code } = await victim.answer("GET", "/version");
      if ((code === 429) === throttled) return;
      if (performance.now() > deadline)
        throw new Error(
          `${userNameOf(identity)} must ${throttled ? "" : "no longer "}be answered 429 within ${WITHIN_MS} ms, got ${code}`,
        );
    }
  };
  const ended = new AbortController();
  const sat = (async () => {
    while (!ended.signal.aborted) await sitting.linger(CONFIG_MAPS, ended.signal);
  })();
  await until(true);
  return async () => {
    ended.abort();
    await sat;
    for (const { apiVersion, kind, metadata } of objects.toReversed())
      await cluster.remove({ apiVersion, kind, name: metadata.name });
    await until(false);
  };
}

// Trusted authorities in a ConfigMap for mounting: a Secret would also expose the authority's key to every
// node.
import { isStoreError } from "../store/errors.ts";
import { looseFields, looseText } from "@isochrone/primitives";
import { KINDS } from "../kinds.ts";
import type { ClusterStore } from "../store/port.ts";
import type { TrustPublication } from "./keeper.ts";

const ENTRY = "ca.crt";
const RACES = ["already_exists", "conflict", "not_found"] as const;

export function configMapPublication(
  store: Pick<ClusterStore, "get" | "create" | "update">,
  namespace: string,
  name: string,
): TrustPublication {
  const ref = { ...KINDS.configMap, namespace, name };
  return {
    async publish(trusted) {
      const found = await store.get(ref);
      if (looseText(looseFields(found?.data)[ENTRY]) === trusted) return false;
      try {
        if (found === null)
          await store.create({
            ...KINDS.configMap,
            metadata: { namespace, name, labels: { "app.kubernetes.io/part-of": "isochrone" } },
            data: { [ENTRY]: trusted },
          });
        else await store.update({ ...found, data: { ...looseFields(found.data), [ENTRY]: trusted } });
        return true;
      } catch (error) {
        if (RACES.some((code) => isStoreError(error, code))) return false;
        throw error;
      }
    },
    async holds(authority) {
      const found = await store.get(ref);
      return looseText(looseFields(found?.data)[ENTRY]).includes(authority.trim());
    },
  };
}

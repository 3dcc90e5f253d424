// As much of Istio's API as an API server needs to keep its objects. No Istio runs here.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";

/** DestinationRules without Istio's schema. */
export const DESTINATION_RULE_CRD: KubernetesObject = {
  ...KINDS.customResourceDefinition,
  metadata: { name: "destinationrules.networking.istio.io" },
  spec: {
    group: "networking.istio.io",
    names: { kind: "DestinationRule", plural: "destinationrules", singular: "destinationrule" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

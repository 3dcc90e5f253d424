// The parts of Istio's API that an API server needs to store its objects. Istio itself does not run.
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

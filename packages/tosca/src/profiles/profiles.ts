import { CHANNEL_TYPES, type ChannelType } from "@isochrone/placement";
import { publishedProfile } from "./stand-ins.ts";

// Types that a template can import without a file. The same names as in the profiles they stand for, so that
// templates written for those are read as they are; what a pod may have is checked by the API server, which
// knows it better.

/** Puccini's Kubernetes profile: the types of its name that a workflow is made of. */
const KUBERNETES = `
tosca_definitions_version: tosca_simple_yaml_1_3
namespace: kubernetes
capability_types:
  Metadata:
    properties:
      name: { type: string, required: false }
      generateName: { type: string, required: false }
      namespace: { type: string, required: false }
      labels: { type: map, required: false }
      annotations: { type: map, required: false }
      finalizers: { type: list, required: false }
  Service:
    properties:
      spec: { type: map, required: false }
      ports: { type: list, required: false }
      selector: { type: map, required: false }
      clusterIP: { type: string, required: false }
      publishNotReadyAddresses: { type: boolean, required: false }
      externalIPs: { type: list, required: false }
      externalTrafficPolicy: { type: string, required: false }
      sessionAffinity: { type: string, required: false }
      trafficDistribution: { type: string, required: false }
  ClusterIP: { derived_from: Service }
  NodePort: { derived_from: ClusterIP }
  LoadBalancer:
    derived_from: NodePort
    properties:
      loadBalancerIP: { type: string, required: false }
      loadBalancerSourceRanges: { type: list, required: false }
  ExternalName:
    derived_from: Service
    properties:
      externalName: { type: string }
  Controller: {}
  Deployment:
    derived_from: Controller
    properties:
      spec: { type: map, required: false }
      template: { type: map, required: false }
      selector: { type: map, required: false }
      replicas: { type: integer, required: false }
      revisionHistoryLimit: { type: integer, required: false }
      strategy: { type: map, required: false }
      minReadySeconds: { type: scalar-unit.time, required: false }
      progressDeadlineSeconds: { type: scalar-unit.time, required: false }
relationship_types:
  Route:
    valid_target_types: [ Service ]
node_types:
  Service:
    capabilities:
      metadata: Metadata
      service: Service
      deployment: Deployment
    requirements:
    - route: { capability: Service, relationship: Route, occurrences: [ 0, UNBOUNDED ] }
`;

/** The relationship types of [001] 3.3, figure 1, each with its default priority. */
const ROUTES = `
tosca_definitions_version: tosca_simple_yaml_1_3
namespace: isochrone
imports:
- { file: "internal:/tosca/kubernetes/1.0/profile.yaml", namespace_prefix: k8s }
relationship_types:
${CHANNEL_TYPES.map(routeType).join("\n")}
`;

function routeType({ name, derivedFrom, priority }: ChannelType): string {
  const ownNeeds =
    "maxNetworkCost: { type: integer, required: false }, minBandwidth: { type: scalar-unit.bitrate, required: false }";
  const properties = [
    `priority: { type: float, default: ${priority} }`,
    ...(derivedFrom === null ? [ownNeeds] : []),
  ];
  return `  ${name}: { derived_from: "${derivedFrom ?? "k8s:Route"}", properties: { ${properties.join(", ")} } }`;
}

export const KUBERNETES_NAME = "internal:/tosca/kubernetes/1.0/profile.yaml";
const ROUTES_NAME = "internal:/isochrone/1.0/profile.yaml";

/** By the name that an import gives. The second one of each is a profile's name of TOSCA 2.0. */
const BUILT_IN: Readonly<Record<string, string>> = {
  [KUBERNETES_NAME]: KUBERNETES,
  "dev.isochrone.kubernetes:1.0": KUBERNETES,
  [ROUTES_NAME]: ROUTES,
  "dev.isochrone.routes:1.0": ROUTES,
};

/**
 * Where newer Puccinis keep the Kubernetes profile that they no longer bring along; ours stands in where no
 * such file is.
 */
const STAND_IN = /(^|\/)kubernetes(-profile|\/1\.0)\/profile\.yaml$/;

/** The text of a profile that is known by name. */
export function builtInProfile(name: string): string | null {
  return Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name]! : null;
}

interface StandIn {
  readonly text: string;
  readonly note: string;
  /** Its types may have properties that it doesn't list. */
  readonly isOpen: boolean;
}

/** The profile that stands in for a file that isn't there. */
export function standInProfile(file: string): StandIn | null {
  if (STAND_IN.test(file))
    return {
      text: KUBERNETES,
      note: "Isochrone's own types of the Kubernetes profile are taken",
      isOpen: false,
    };
  const text = publishedProfile(file);
  return text === null
    ? null
    : { text, note: "Isochrone's own types of that profile are taken", isOpen: true };
}

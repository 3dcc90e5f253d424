import type { KubernetesObject } from "@isochrone/kubernetes";
import { userNameOf, type Identity } from "./kubeconfig.ts";

export type Rule =
  | {
      readonly apiGroups: readonly string[];
      readonly resources: readonly string[];
      readonly verbs: readonly string[];
      readonly resourceNames?: readonly string[];
    }
  | { readonly nonResourceURLs: readonly string[]; readonly verbs: readonly string[] };

const RBAC_GROUP = "rbac.authorization.k8s.io";

export function bindingObjects(
  name: string,
  identity: Identity,
  rules: readonly Rule[],
  namespace: string | undefined,
): KubernetesObject[] {
  const scope = namespace === undefined ? "Cluster" : "";
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  const apiVersion = `${RBAC_GROUP}/v1`;
  const roleRef = { apiGroup: RBAC_GROUP, kind: `${scope}Role`, name };
  const subjects = [{ kind: "User", apiGroup: RBAC_GROUP, name: userNameOf(identity) }];
  return [
    { apiVersion, kind: `${scope}Role`, metadata, rules },
    { apiVersion, kind: `${scope}RoleBinding`, metadata, subjects, roleRef },
  ];
}

/** Returns a priority level with one seat and no queue, for all requests of some users. */
export function throttleObjects(name: string, users: readonly string[]): KubernetesObject[] {
  const limited = {
    nominalConcurrencyShares: 0,
    lendablePercent: 0,
    borrowingLimitPercent: 0,
    limitResponse: { type: "Reject" },
  };
  const everything = {
    subjects: users.map((user) => ({ kind: "User", user: { name: user } })),
    resourceRules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true },
    ],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  };
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
  const metadata = { name };
  const priorityLevelConfiguration = { name };
  return [
    { apiVersion, kind: "PriorityLevelConfiguration", metadata, spec: { type: "Limited", limited } },
    {
      apiVersion,
      kind: "FlowSchema",
      metadata,
      spec: { priorityLevelConfiguration, matchingPrecedence: 2, rules: [everything] },
    },
  ];
}

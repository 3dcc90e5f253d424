import {
  grantsOf,
  MANIFEST_VALUES,
  usesOf,
  type Evidence,
  type Scenario,
  type Use,
} from "../harness/components/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { BY_CHANCE } from "./rbac-faults.ts";

const { NAMESPACE, NAME } = MANIFEST_VALUES;

export async function evidenceOf(
  cluster: ControlPlane,
  scenarios: readonly Scenario[],
  faultsOnly: Readonly<Record<string, string>>,
): Promise<Evidence> {
  const kinds = ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const objects = await Promise.all(
    kinds.map(async (kind) => {
      const all = await cluster.list(`/apis/${apiVersion}/${kind.toLowerCase()}s`);
      return all
        .filter(({ metadata }) => metadata.name.startsWith(NAME))
        .map((one) => ({ ...one, apiVersion, kind }));
    }),
  );
  const isOurs = (user: string): boolean => user.startsWith(`system:serviceaccount:${NAMESPACE}:${NAME}-`);
  const events = await cluster.auditEvents(
    ({ user, resource }) => isOurs(user) || resource === "subjectaccessreviews",
  );
  const uses: Use[] = events.flatMap((event) => usesOf(event, isOurs));
  return { grants: grantsOf(objects.flat()), uses, scenarios, faultsOnly, byChance: BY_CHANCE };
}

import { readFileSync } from "node:fs";
import { MANIFEST_VALUES, type Installation } from "../harness/components/index.ts";

const { NAMESPACE, RECORD_KEYS_SECRET } = MANIFEST_VALUES;

/** Short enough that a key is replaced during the test. */
export const RECORD_KEY_SETTINGS = {
  recordKeysSecret: `${NAMESPACE}/${RECORD_KEYS_SECRET}`,
  recordKeyRotationMs: 5000,
  recordKeyOverlapMs: 2000,
  bandwidthMaxAgeMs: 2000,
  bandwidthCapacityWindowMs: 2000,
};

/** Returns response codes: tokens here are not bound to pods, so they get no key. */
export async function askForRecordKeys(installation: Installation, aggregatorUrl: string): Promise<string[]> {
  const paths = { probe: "node-0", collector: "service/collector" } as const;
  const codes: string[] = [];
  for (const component of ["probe", "collector"] as const) {
    const tokenFile = await installation.tokenFile(component);
    const answer = await fetch(`${aggregatorUrl}/api/v1/record-key/${paths[component]}`, {
      headers: { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` },
    });
    codes.push(((await answer.json()) as { code: string }).code);
  }
  return codes;
}

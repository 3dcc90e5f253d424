import { writeFileSync } from "node:fs";
import type { Credentials } from "./api-client.ts";

/** A service account, created if missing, or a user with a client certificate. */
export type Identity =
  | {
      readonly serviceAccount: { readonly namespace: string; readonly name: string };
      /** Lifetime of the token; at least 600. @default 86,400 */
      readonly validForSeconds?: number;
    }
  | {
      readonly user: string;
      readonly groups?: readonly string[];
      /** Lifetime of the certificate. Negative: expired. @default one day */
      readonly validForMs?: number;
    };

export function userNameOf(identity: Identity): string {
  if ("user" in identity) return identity.user;
  const { namespace, name } = identity.serviceAccount;
  return `system:serviceaccount:${namespace}:${name}`;
}

export function writeKubeconfig(path: string, server: string, ca: string, credentials: Credentials): void {
  const user =
    "certificate" in credentials
      ? {
          "client-certificate-data": base64(credentials.certificate),
          "client-key-data": base64(credentials.key),
        }
      : credentials;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "certificate-authority-data": base64(ca) } }],
    users: [{ name: "test", user }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  };
  // JSON is valid YAML.
  writeFileSync(path, JSON.stringify(config, null, 2), { mode: 0o600 });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

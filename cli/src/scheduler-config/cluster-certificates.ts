// Certificates that the scheduler-plugin created for kube-scheduler (tls.source own): authorities and client
// pair.
import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { looseFields, looseText, reasonOf } from "@isochrone/primitives";
import { CommandError } from "../errors.ts";

interface ClientPair {
  readonly certificate: string;
  readonly key: string;
}

/** PEM of the extender's authorities; null: not published. */
export async function publishedAuthorities(
  store: Pick<ClusterStore, "get">,
  { namespace, name }: ServiceName,
): Promise<string | null> {
  const found = await store.get({ ...KINDS.configMap, namespace, name: `${name}-ca` });
  const text = looseText(looseFields(found?.data)["ca.crt"]);
  return text === "" ? null : text;
}

/** Throws CommandError. */
export async function clientPair(
  store: Pick<ClusterStore, "get">,
  { namespace, name }: ServiceName,
): Promise<ClientPair> {
  const secretName = `${name}-kube-scheduler`;
  const where = `the Secret ${namespace}/${secretName}`;
  const secret = await store.get({ ...KINDS.secret, namespace, name: secretName });
  if (secret === null)
    throw new CommandError(
      `--client-folder needs ${where}, which the scheduler-plugin makes when it runs with tls.source=own; there is none`,
    );
  const pair = { certificate: entryOf(secret, "tls.crt"), key: entryOf(secret, "tls.key") };
  try {
    const fits = new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
    if (fits) return pair;
  } catch (error) {
    throw new CommandError(`${where} must hold a certificate and its key in tls.crt and tls.key`, {
      cause: error,
    });
  }
  throw new CommandError(`${where} must hold a key in tls.key that fits tls.crt`);
}

/** Writes files readable by their owner only; returns their paths. Throws CommandError. */
export async function writeClientPair(
  folder: string,
  { certificate, key }: ClientPair,
): Promise<{ readonly certFile: string; readonly keyFile: string }> {
  const path = resolve(folder);
  const [certFile, keyFile] = [join(path, "tls.crt"), join(path, "tls.key")];
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await writePrivately(keyFile, key);
    await writePrivately(certFile, certificate);
  } catch (error) {
    throw new CommandError(`--client-folder must be a folder that can be written: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  return { certFile, keyFile };
}

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

function entryOf(secret: KubernetesObject, name: string): string {
  return Buffer.from(looseText(looseFields(secret.data)[name]), "base64").toString();
}

/** Never writes into an existing file, which others may be able to read. */
async function writePrivately(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
}

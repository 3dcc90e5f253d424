import { readFile } from "node:fs/promises";
import { codeOf } from "@isochrone/primitives";
import type { Credentials } from "./api.ts";
import { PrometheusError } from "./errors.ts";

interface CredentialFiles {
  readonly prometheusTokenFile: string | null;
  readonly prometheusUsername: string | null;
  readonly prometheusPasswordFile: string | null;
  readonly prometheusCaFile: string | null;
}

/** Throws PrometheusError `credentials` naming the setting. */
export async function readCredentials(files: CredentialFiles): Promise<Credentials> {
  const {
    prometheusUsername: username,
    prometheusPasswordFile,
    prometheusTokenFile,
    prometheusCaFile,
  } = files;
  const token = await contentOf("prometheusTokenFile", prometheusTokenFile);
  const password = await contentOf("prometheusPasswordFile", prometheusPasswordFile);
  const ca = await contentOf("prometheusCaFile", prometheusCaFile);
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const authorization = token !== null ? `Bearer ${token}` : username === null ? null : basic;
  return { authorization, ca };
}

async function contentOf(setting: string, file: string | null): Promise<string | null> {
  if (file === null) return null;
  let content: string;
  try {
    content = (await readFile(file, "utf8")).trim();
  } catch (cause) {
    throw new PrometheusError(
      "credentials",
      `collector.${setting} must be a file that can be read, got ${codeOf(cause) ?? "unknown"}`,
      {
        cause,
      },
    );
  }
  if (content === "")
    throw new PrometheusError("credentials", `collector.${setting} must not be an empty file`);
  return content;
}

import { section } from "../settings/section.ts";
import { inherited } from "../settings/setting.ts";
import { text } from "../settings/texts.ts";

/** Setting of a client's token file. `server` is what it speaks to: "the aggregator". */
export function tokenFileSetting(server: string) {
  return text({
    default: null,
    description: `File with the bearer token for ${server}, such as a projected service account token; read again as it is replaced. Without it none is sent.`,
  });
}

/** Setting of the authorities that a client believes. */
export function caFileSetting(server: string) {
  return text({
    default: null,
    description: `PEM file of the authorities that the certificate of ${server} may come from; read again as it changes. Without it the system's.`,
  });
}

/** Setting of the certificate by which a client proves itself. */
export function certFileSetting(server: string) {
  return text({
    default: null,
    description: `PEM file of the certificate to show to ${server}, where it wants one of its clients, and those between it and its authority; read again as it changes.`,
  });
}

/** Setting of the key of such a certificate. */
export function keyFileSetting(server: string) {
  return text({
    default: null,
    description: `PEM file of the key of the certificate for ${server}; read again as it changes.`,
  });
}

const clientTable = {
  aggregatorUrl: text({
    default: "http://isochrone-aggregator:8080",
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https address",
    description:
      "Base address of the aggregator: the graph API, the source of probe plans and flow plans, and where measurements go.",
  }),
  aggregatorTokenFile: tokenFileSetting("the aggregator"),
  aggregatorCaFile: caFileSetting("the aggregator"),
};

/** How services reach the aggregator. */
export const clientSettings = section("client", clientTable, {
  description:
    "How services reach the aggregator. For one service alone they are `probe.aggregatorUrl` and so on;\nin `scheduler` `graphUrl`, `graphTokenFile`, `graphCaFile`.",
});

/** The same in the section of a service. Its rule is {@link aggregatorClientRule}. */
export const AGGREGATOR_CLIENT_SETTINGS = {
  aggregatorUrl: inherited(clientSettings, clientTable.aggregatorUrl),
  aggregatorTokenFile: inherited(clientSettings, clientTable.aggregatorTokenFile),
  aggregatorCaFile: inherited(clientSettings, clientTable.aggregatorCaFile),
};

type AggregatorClient = Readonly<{
  aggregatorUrl: string;
  aggregatorTokenFile: string | null;
  aggregatorCaFile: string | null;
}>;

/** Checks the values of {@link AGGREGATOR_CLIENT_SETTINGS} together. */
export function aggregatorClientRule(ofSection: string): (values: AggregatorClient) => string | null {
  return ({ aggregatorUrl, aggregatorTokenFile, aggregatorCaFile }) =>
    clientFilesMistake(ofSection, { aggregatorUrl }, { aggregatorTokenFile }, { aggregatorCaFile });
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

type Named<T> = Readonly<Record<string, T>>;

/**
 * Checks a client's address together with its files, each given as `{ settingName: value }`; null:
 * nothing is wrong.
 */
export function clientFilesMistake(
  section: string,
  url: Named<string>,
  tokenFile: Named<string | null>,
  caFile: Named<string | null>,
): string | null {
  const [urlName, address] = entryOf(url);
  const [tokenName, token] = entryOf(tokenFile);
  const [caName, ca] = entryOf(caFile);
  if (!URL.canParse(address)) return `${section}.${urlName} must be an address, got ${address}`;
  const { protocol, hostname } = new URL(address);
  if (protocol === "https:") return null;
  if (ca !== null)
    return `${section}.${caName} must not be set unless ${section}.${urlName} is https, got ${address}`;
  if (token === null || LOOPBACK.test(hostname)) return null;
  return `${section}.${urlName} must be https when ${section}.${tokenName} is set (the token would go over the wire as it is), got ${address}`;
}

/**
 * Checks the files of a client's certificate together with its address, each given as
 * `{ settingName: value }`; null: nothing is wrong.
 */
export function clientCertificateMistake(
  section: string,
  url: Named<string | null>,
  certFile: Named<string | null>,
  keyFile: Named<string | null>,
): string | null {
  const [urlName, address] = entryOf(url);
  const [certName, cert] = entryOf(certFile);
  const [keyName, key] = entryOf(keyFile);
  if ((cert === null) !== (key === null)) {
    const [given, missing] = cert === null ? [keyName, certName] : [certName, keyName];
    return `${section}.${missing} must be set together with ${section}.${given}, got none`;
  }
  if (cert === null || address?.startsWith("https:") === true) return null;
  return `${section}.${certName} must not be set unless ${section}.${urlName} is https, got ${address ?? "none"}`;
}

function entryOf<T>(named: Named<T>): [string, T] {
  return Object.entries(named)[0]!;
}

// The emulator of the embedded cluster, where whoever serves this page says that there is one. Changes need
// its token: the page has it from its address, or from somebody who enters it. It is checked at once, kept
// for this tab, and sent in a header to this page's own server alone.
import { signal } from "@preact/signals";
import { isToken, withoutToken } from "../model/emulator-token.ts";
import { allowed, Refused } from "./session.ts";

/** How the emulated link from one node to another is. */
export interface EmulatedLink {
  readonly rttMs: number;
  readonly jitterMs: number;
  readonly lossRatio: number;
  readonly bandwidthBitsPerSecond: number | null;
  readonly cut: boolean;
}

export interface EmulatedLinkState {
  readonly link: EmulatedLink;
  /** Before somebody changed it. */
  readonly initial: EmulatedLink;
}

/** A change; what is left out stays. */
export interface LinkChange {
  readonly delayMs?: number;
  readonly jitterMs?: number;
  readonly lossRatio?: number;
  readonly bandwidthBitsPerSecond?: number | null;
  readonly cut?: boolean;
  readonly oneWay?: boolean;
}

const TOKEN_KEY = "isochrone-emulator-token";

export const hasEmulator = document.querySelector('meta[name="isochrone-emulator"]') !== null;
/** Empty until the emulator has accepted one. */
export const emulatorToken = signal("");
/** Why the token that was given is of no use, and the next step; empty: nothing is wrong. */
export const tokenMistake = signal("");

const NEXT =
  "Open the address “page with controls” that the terminal of the cluster shows, or enter the token of its file isochrone/lab-PORT.token on the page of a pair.";

function refuseToken(why: string): void {
  forgetToken();
  tokenMistake.value = `${why}. ${NEXT}`;
}

function forgetToken(): void {
  emulatorToken.value = "";
  sessionStorage.removeItem(TOKEN_KEY);
}

/** Asks the emulator whether the token is right, and keeps it if so. */
export async function offerEmulatorToken(text: string): Promise<void> {
  const token = text.trim();
  if (!isToken(token)) return refuseToken(`The emulator's token is refused: ${shapeOf(token)}`);
  try {
    await allowed(await fetch("lab/v1/token", { headers: authorization(token), redirect: "error" }));
  } catch (error) {
    if (error instanceof Refused) {
      const why =
        error.status === 401 ? "it belongs to another cluster, or to an earlier run" : error.message;
      return refuseToken(`The emulator's token is refused: ${why}`);
    }
    // The emulator can't be reached; the first change says so, and whether the token is right.
  }
  tokenMistake.value = "";
  emulatorToken.value = token;
  sessionStorage.setItem(TOKEN_KEY, token);
}

function shapeOf(token: string): string {
  return `it must have 16 to 200 letters, digits, - and _, got ${token.length} characters`;
}

/** After a change was refused. */
export function dropEmulatorToken(): void {
  refuseToken("The emulator's token is no longer accepted");
}

function authorization(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

function takeFromAddress(): boolean {
  const { fragment, token } = withoutToken(location.hash);
  if (fragment === location.hash) return false;
  history.replaceState(null, "", fragment === "" ? "#/" : fragment);
  if (token === null) return false;
  if (hasEmulator) void offerEmulatorToken(token);
  else
    tokenMistake.value =
      "The emulator's token in the address is of no use: this server has no emulated network. Open the page of an embedded cluster (isochrone up).";
  return true;
}

const stored = hasEmulator ? sessionStorage.getItem(TOKEN_KEY) : null;
// A token of the address comes before one that this tab has kept.
if (!takeFromAddress() && stored !== null) void offerEmulatorToken(stored);
addEventListener("hashchange", takeFromAddress);

export function linkPath(source: string, target: string): string {
  return `lab/v1/links/${encodeURIComponent(source)}/${encodeURIComponent(target)}`;
}

/** Rejects with Refused where the emulator says no. */
export async function changeLink(source: string, target: string, change: LinkChange): Promise<void> {
  await allowed(
    await fetch(linkPath(source, target), {
      method: "PUT",
      headers: { "content-type": "application/json", ...authorization(emulatorToken.peek()) },
      body: JSON.stringify(change),
      redirect: "error",
    }),
  );
}

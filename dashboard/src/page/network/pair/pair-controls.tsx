import type { VNode } from "preact";
import { useState } from "preact/hooks";
import {
  changeLink,
  dropEmulatorToken,
  emulatorToken,
  linkPath,
  offerEmulatorToken,
  tokenMistake,
  type EmulatedLinkState,
  type LinkChange,
} from "../../state/emulator.ts";
import { milliseconds, percent } from "../../model/format.ts";
import { useJson } from "../../parts/ask.ts";
import { Card } from "../../parts/common.tsx";
import { Refused } from "../../state/session.ts";
import { healing, isAsBefore, linkInWords } from "./pair-model.ts";

interface PairProps {
  readonly source: string;
  readonly target: string;
}

interface Change {
  readonly words: string;
  readonly carryOut: () => Promise<void>;
}

/** Emulator settings of this pair and their controls; embedded cluster only. */
export function PairControls({ source, target }: PairProps): VNode {
  const there = useJson<EmulatedLinkState>(linkPath(source, target), { isOfNow: true });
  const back = useJson<EmulatedLinkState>(linkPath(target, source), { isOfNow: true });
  const [told, tell] = useState<Told | null>(null);
  const [isBusy, setBusy] = useState(false);
  const act = ({ words, carryOut }: Change): void => {
    setBusy(true);
    carryOut()
      .then(
        () => tell({ words: `${words}. The graph follows within some seconds.`, isFault: false }),
        (error: unknown) => tell({ words: faultInWords(error), isFault: true }),
      )
      .finally(() => setBusy(false));
  };
  const both = (words: string, change: LinkChange): void =>
    act({ words, carryOut: () => changeLink(source, target, change) });
  const heal = (was: EmulatedLinkState, wasBack: EmulatedLinkState): void => {
    const changes = [
      [source, target, healing(was.initial)],
      [target, source, healing(wasBack.initial)],
    ] as const;
    const carryOut = async (): Promise<void> => {
      for (const [from, to, change] of changes) await changeLink(from, to, { ...change, oneWay: true });
    };
    act({ words: "Healed: as it was at the start, both ways", carryOut });
  };
  return (
    <Card title="Emulated link" id="emulator">
      <p class="soft" id="emulated">
        {there.data === null ? "The emulator says nothing of this pair." : stateInWords(there.data)}
      </p>
      {emulatorToken.value === "" ? (
        <TokenForm />
      ) : (
        <div class="controls">
          <Amount
            label="Round trip"
            unit="ms"
            initial={80}
            max={60_000}
            action="Slow"
            isBusy={isBusy}
            onAmount={(delayMs) =>
              both(`The round trip is ${milliseconds(delayMs)} now, both ways`, { delayMs })
            }
          />
          <Amount
            label="Loss"
            unit="%"
            initial={30}
            max={100}
            action="Lose packets"
            isBusy={isBusy}
            onAmount={(share) =>
              both(`${percent(share / 100)} of the packets are lost now, both ways`, {
                lossRatio: share / 100,
              })
            }
          />
          <span class="buttons">
            <button
              type="button"
              disabled={isBusy}
              onClick={() => both("Cut: nothing passes any more, both ways", { cut: true })}
            >
              Cut
            </button>
            <HealButton there={there.data} back={back.data} isBusy={isBusy} onHeal={heal} />
          </span>
        </div>
      )}
      <Said told={told} />
    </Card>
  );
}

interface Told {
  readonly words: string;
  readonly isFault: boolean;
}

/** Result of the last change, or the fault of the token. */
function Said({ told }: { readonly told: Told | null }): VNode {
  const mistake = tokenMistake.value;
  return (
    <p role="status" id="emulator-says" class={mistake !== "" || told?.isFault === true ? "fault" : ""}>
      {mistake === "" ? (told?.words ?? "") : mistake}
    </p>
  );
}

function HealButton(props: {
  readonly there: EmulatedLinkState | null;
  readonly back: EmulatedLinkState | null;
  readonly isBusy: boolean;
  readonly onHeal: (there: EmulatedLinkState, back: EmulatedLinkState) => void;
}): VNode {
  const { there, back, isBusy, onHeal } = props;
  if (there === null || back === null)
    return (
      <button type="button" disabled>
        Heal
      </button>
    );
  return (
    <button type="button" disabled={isBusy} onClick={() => onHeal(there, back)}>
      Heal
    </button>
  );
}

function stateInWords({ link, initial }: EmulatedLinkState): string {
  const now = `The emulator's own record of this direction: ${linkInWords(link)}`;
  return isAsBefore(link, initial)
    ? `${now}, as at the start.`
    : `${now}; at the start: ${linkInWords(initial)}.`;
}

function faultInWords(error: unknown): string {
  if (error instanceof Refused && error.status === 401) {
    dropEmulatorToken();
    return `Refused: ${error.message}.`;
  }
  if (error instanceof Refused) return `Refused: ${error.message}.`;
  return "Not done: the emulator can't be reached.";
}

function Amount(props: {
  readonly label: string;
  readonly unit: string;
  readonly initial: number;
  readonly max: number;
  readonly action: string;
  readonly isBusy: boolean;
  readonly onAmount: (amount: number) => void;
}): VNode {
  const { label, unit, initial, max, action, isBusy, onAmount } = props;
  const [amount, setAmount] = useState(initial);
  return (
    <form
      class="amount"
      onSubmit={(event) => {
        event.preventDefault();
        onAmount(amount);
      }}
    >
      <label>
        {label}
        <input
          type="number"
          min={0}
          max={max}
          step="any"
          required
          value={amount}
          onInput={({ currentTarget }) => setAmount(Number(currentTarget.value))}
        />{" "}
        {unit}
      </label>
      <button type="submit" disabled={isBusy}>
        {action}
      </button>
    </form>
  );
}

function TokenForm(): VNode {
  const [token, setToken] = useState("");
  return (
    <form
      class="controls"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== "") void offerEmulatorToken(token);
      }}
    >
      <p class="soft">
        To slow, cut or heal this link, open the address <em>page with controls</em> that the terminal of the
        cluster shows, or enter the token of its file <code>isochrone/lab-PORT.token</code>.
      </p>
      <label>
        Token
        <input
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </label>
      <button type="submit">Use it</button>
    </form>
  );
}

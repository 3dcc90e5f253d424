import type { Savings, SavingsLine, SavingsOption } from "@isochrone/topology";
import type { VNode } from "preact";
import { count } from "../model/format.ts";
import { useJson } from "../parts/ask.ts";
import { offLine } from "../model/off.ts";
import { Card, Empty, Loading, Name, Table, Trouble } from "../parts/common.tsx";
import { moment } from "../state/store.ts";
import { money, objectName } from "./bill-model.ts";
import { changeText, OPTIONS, riskText } from "./savings-model.ts";

export function SavingsCard(): VNode | null {
  const { data, failure, status } = useJson<Savings>("api/v1/savings?limit=50", { isOfNow: true });
  // Savings of a past moment are useless.
  if (moment.value !== "") return null;
  return (
    <Card title="Savings" id="savings">
      {data !== null ? (
        <Whole savings={data} />
      ) : failure === null ? (
        <Loading />
      ) : (
        <NoSavings text={failure.text} isOff={status === 503} />
      )}
    </Card>
  );
}

function NoSavings({ text, isOff = false }: { readonly text: string; readonly isOff?: boolean }): VNode {
  return (
    <Trouble title="Savings can't be shown">
      {text.replace(/^no graphs: |\.$/g, "")}.{isOff ? ` ${offLine("scheduler")}` : ""}
    </Trouble>
  );
}

function Whole({ savings: { lines, trouble, currency, leftOut } }: { readonly savings: Savings }): VNode {
  if (trouble !== null) return <NoSavings text={trouble} />;
  if (lines.length === 0)
    return (
      <Empty title="No traffic is counted">Each workflow and Service that is called appears here.</Empty>
    );
  if (lines.every(({ perMonth }) => perMonth === null))
    return <Empty title="Nothing has a price">{offLine("prices")}</Empty>;
  return (
    <>
      <p class="soft">
        {currency} a month less than today. Pale: not advised, with the reason; the commands for the others:
        isochrone savings NAMESPACE/NAME.
      </p>
      <Table
        id="savings-lines"
        label="savings, what saves most first"
        columns={[
          { title: "For", isText: true },
          { title: "Today" },
          ...OPTIONS.map(({ title }) => ({ title, isText: true })),
        ]}
        rows={lines.map((line) => ({
          key: `${line.kind} ${objectName(line)}`,
          cells: [
            <Subject line={line} />,
            money(line.perMonth),
            ...OPTIONS.map(({ of }) => <Option of={line[of]} />),
          ],
        }))}
      />
      {leftOut === 0 ? null : <p class="soft">{count(leftOut)} workflows and Services more.</p>}
    </>
  );
}

function Subject({ line }: { readonly line: SavingsLine }): VNode {
  return (
    <>
      <Name>{objectName(line)}</Name>
      <small class="savings-note">{line.kind === "service" ? "Service" : "workflow"}</small>
    </>
  );
}

function Option({ of: option }: { readonly of: SavingsOption }): VNode {
  const { savedPerMonth: saved, isAdvised, reason, commands } = option;
  return (
    <div class={isAdvised ? "savings-option" : "savings-option refused"} title={commands.join("\n")}>
      {money(saved)}
      {isAdvised ? <small class="savings-note">{changeText(option)}</small> : null}
      <small class="savings-note">{isAdvised ? riskText(option) : reason}</small>
    </div>
  );
}

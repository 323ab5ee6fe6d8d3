// Runs our plugin as OpenCode does, with events that it really gave (one JSON object on each line of the input), and prints what the plugin adds.
import { createInterface } from "node:readline"

const { Ricordo } = await import(process.argv[2])
const directory = process.argv[3]
const hooks = await Ricordo({ directory })
const added = []

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line)
  if (given.hook === "event") await hooks.event({ event: given.event })
  if (given.hook === "chat.message") {
    const before = given.output.parts.length
    await hooks["chat.message"](given.input, given.output)
    added.push(...given.output.parts.slice(before).map((part) => part.text))
  }
  if (given.hook === "system") {
    const output = { system: [] }
    await hooks["experimental.chat.system.transform"](given.input, output)
    added.push(...output.system)
  }
}
console.log(JSON.stringify(added))

// A chat page, as the documentation of the AI SDK has it.
import { useChat } from '@ai-sdk/react'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'

const Chat = ({ initial }) => {
  const { messages, sendMessage, status, error } = useChat({ id: 'page', messages: initial, resume: true })
  const [text, setText] = useState('')
  const send = (event) => {
    event.preventDefault()
    void sendMessage({ text })
    setText('')
  }
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <p key={id} data-role={role}>
          {parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}
        </p>
      ))}
      <output>{error ? `failed: ${error.message}` : status}</output>
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      </form>
    </main>
  )
}

const initial = await (await fetch('/api/chat/page')).json()
createRoot(document.getElementById('root')).render(<Chat initial={initial} />)

// Package drill is what a drill for `locklab score` needs beside the library: see docs/score.md. Copy this file.
//
//	drill.Follow(drill.Drill{
//		"lock":   func(ctx context.Context, wait time.Duration) (drill.Answer, error) { … },
//		"unlock": func(ctx context.Context, _ time.Duration) (drill.Answer, error) { … },
//	}, "cancel")
//
// What the drill has no function for, its library has no call for. `wait` is zero if the order has no limit. More that
// it can is "cancel", if `lock` heeds its context, "limit", if it keeps `wait`, and "quorum", if it takes the lock on a
// majority of the servers.
package drill

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Do does what an order says.
type Do func(ctx context.Context, wait time.Duration) (Answer, error)

// Drill has what the library can do, by the words of the orders.
type Drill map[string]Do

// Answer is what the library tells: `valid_ms`, `token`. None says that it did what the call is for.
type Answer map[string]any

// No says without an error that another has the lock, or that it was not the holder's any more.
var No = Answer{"r": "no"}

var writing sync.Mutex

// Lease is the lease that the drill is to ask for.
func Lease() time.Duration {
	ms, err := strconv.Atoi(os.Getenv("LOCKLAB_LEASE_MS"))
	if err != nil {
		panic(err)
	}
	return time.Duration(ms) * time.Millisecond
}

// URLs are those of the servers.
func URLs() []string { return strings.Split(os.Getenv("REDIS_URLS"), ",") }

// Lost says that the library has told its user that the lock is lost.
func Lost(how string) { say(Answer{"event": "lost", "how": how}) }

func say(line Answer) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	writing.Lock()
	defer writing.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

// Follow follows the orders on standard input until it ends.
func Follow(drill Drill, can ...string) {
	for word := range drill {
		can = append(can, word)
	}
	say(Answer{"event": "ready", "can": can})
	giveUp := func() {}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var order struct {
			ID     int    `json:"id"`
			Do     string `json:"do"`
			WaitMs int    `json:"wait_ms"`
		}
		if err := json.Unmarshal(lines.Bytes(), &order); err != nil {
			panic(err)
		}
		if order.Do == "cancel" {
			giveUp()
			say(Answer{"id": order.ID, "r": "ok"})
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		giveUp = cancel
		go func() {
			line := Answer{"id": order.ID, "r": "ok"}
			told, err := drill[order.Do](ctx, time.Duration(order.WaitMs)*time.Millisecond)
			for key, value := range told {
				line[key] = value
			}
			if err != nil {
				line["r"], line["class"] = "error", fmt.Sprintf("%T: %.150v", err, err)
			}
			say(line)
		}()
	}
}

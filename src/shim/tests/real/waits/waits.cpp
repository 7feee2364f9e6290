// Every wait of C++'s standard library, each in a thread of its own, all at the same time: 200 ms by the clock that it goes
// by. For each a line: its name, that clock, and how long it took by the monotonic clock, in milliseconds.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std;
using namespace std::chrono;

static constexpr auto LENGTH = 200ms;

static void expect(bool holds) {
    if (!holds) {
        puts("wrong: a wait ended without its time being over");
        quick_exit(1);
    }
}

// One that a thread holds which has ended.
template <typename Mutex> static Mutex &held() {
    auto mutex = new Mutex;
    thread([mutex] { mutex->lock(); }).join();
    return *mutex;
}

template <typename Wait> static void on_condition(Wait wait) {
    mutex lock;
    condition_variable condition;
    unique_lock<mutex> guard(lock);
    expect(wait(condition, guard) == cv_status::timeout);
}

template <typename Wait> static thread measured(const char *name, const char *clock, Wait wait) {
    return thread([=] {
        auto begin = steady_clock::now();
        wait();
        auto took = duration<double, milli>(steady_clock::now() - begin).count();
        printf("%s %s %.3f\n", name, clock, took);
        fflush(stdout);
    });
}

int main() {
    puts("begin");
    fflush(stdout);
    vector<thread> all;
    auto add = [&](const char *name, const char *clock, auto wait) {
        all.push_back(measured(name, clock, wait));
    };
    add("sleep_for", "mono", [] { this_thread::sleep_for(LENGTH); });
    add("sleep_until_steady", "mono", [] { this_thread::sleep_until(steady_clock::now() + LENGTH); });
    add("condition_variable::wait_for", "mono", [] {
        on_condition([](auto &condition, auto &guard) { return condition.wait_for(guard, LENGTH); });
    });
    add("condition_variable::wait_until_steady", "mono", [] {
        on_condition([](auto &condition, auto &guard) {
            return condition.wait_until(guard, steady_clock::now() + LENGTH);
        });
    });
    add("condition_variable::wait_until_system", "wall", [] {
        on_condition([](auto &condition, auto &guard) {
            return condition.wait_until(guard, system_clock::now() + LENGTH);
        });
    });
    add("condition_variable_any::wait_for", "mono", [] {
        mutex lock;
        condition_variable_any condition;
        lock.lock();
        expect(condition.wait_for(lock, LENGTH) == cv_status::timeout);
    });
    add("timed_mutex::try_lock_for", "mono", [] { expect(!held<timed_mutex>().try_lock_for(LENGTH)); });
    add("timed_mutex::try_lock_until_system", "wall", [] {
        expect(!held<timed_mutex>().try_lock_until(system_clock::now() + LENGTH));
    });
    add("shared_timed_mutex::try_lock_for", "mono", [] {
        expect(!held<shared_timed_mutex>().try_lock_for(LENGTH));
    });
    add("shared_timed_mutex::try_lock_shared_for", "mono", [] {
        expect(!held<shared_timed_mutex>().try_lock_shared_for(LENGTH));
    });
    add("future::wait_for", "mono", [] {
        promise<int> nothing;
        expect(nothing.get_future().wait_for(LENGTH) == future_status::timeout);
    });
    add("counting_semaphore::try_acquire_for", "mono", [] {
        counting_semaphore<1> empty(0);
        expect(!empty.try_acquire_for(LENGTH));
    });
    for (auto &one : all) {
        one.join();
    }
    quick_exit(0);
}
